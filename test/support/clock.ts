// Loaded before a program whose machine's clock is to be wrong, by `--preload`: moves it by TEST_CLOCK_SHIFT_MS.
const shiftMs = Number(process.env.TEST_CLOCK_SHIFT_MS);
const { Date: RightDate } = globalThis;
const now = () => RightDate.now() + shiftMs;

globalThis.Date = new Proxy(RightDate, {
  construct: (target, given) => (given.length === 0 ? new target(now()) : Reflect.construct(target, given)),
  get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
});
