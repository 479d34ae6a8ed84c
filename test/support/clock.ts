// Preloaded (`--preload`) into a program to simulate a wrong clock: shifts it by
// TEST_CLOCK_SHIFT_MS.
const shiftMs = Number(process.env.TEST_CLOCK_SHIFT_MS);
const { Date: RightDate } = globalThis;
const now = () => RightDate.now() + shiftMs;

globalThis.Date = new Proxy(RightDate, {
  construct: (target, given) => (given.length === 0 ? new target(now()) : Reflect.construct(target, given)),
  get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
});
