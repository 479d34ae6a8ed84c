import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTimeZones, type TimeZone } from "../../src/base/time-zone.ts";

const folder = mkdtempSync(join(tmpdir(), "zones-"));
afterAll(() => rmSync(folder, { recursive: true }));
const nowhere = join(folder, "nowhere");

const at = (text: string) => Date.parse(text);
/** The changes between two instants: when, and to which offset in hours. */
function changesOf(zone: TimeZone | undefined, from: string, until: string): string[] {
  const changes: string[] = [];
  for (let change = zone?.(at(from)).until ?? 0; change < at(until); change = zone?.(change).until ?? 0) {
    changes.push(`${new Date(change).toISOString().slice(0, 16)} ${(zone?.(change).offsetMs ?? 0) / 3_600_000}`);
  }
  return changes;
}

/** The runtime's zone, of which the past is right. */
function runtimeZone(name: string): TimeZone {
  const utc = new Temporal.ZonedDateTime(0n, name);
  return (instant) => {
    const time = utc.add({ milliseconds: instant });
    const until = time.getTimeZoneTransition("next")?.epochMilliseconds ?? Number.POSITIVE_INFINITY;
    return { from: instant, until, offsetMs: time.offsetNanoseconds / 1e6 };
  };
}

test("the packaged zones have the runtime's changes from 2000 to 2025", () => {
  const zones = openTimeZones(nowhere);
  for (const name of Intl.supportedValuesOf("timeZone")) {
    const [from, until] = ["2000-01-01T00:00Z", "2026-01-01T00:00Z"];
    expect([name, ...changesOf(zones.find(name), from, until)]).toEqual([
      name,
      ...changesOf(runtimeZone(name), from, until),
    ]);
  }
});

/** A file of RFC 9636 without changes of the first block, as newer systems have them. */
function compile(offsets: readonly number[], changes: readonly [at: string, offset: number][], rule: string): Buffer {
  const header = (times: number, types: number) => {
    const bytes = Buffer.alloc(44);
    bytes.write("TZif2");
    bytes.writeUInt32BE(times, 32);
    bytes.writeUInt32BE(types, 36);
    bytes.writeUInt32BE(4, 40);
    return bytes;
  };
  const types = Buffer.alloc(offsets.length * 6);
  for (const [index, hours] of offsets.entries()) types.writeInt32BE(hours * 3600, index * 6);
  const times = Buffer.alloc(changes.length * 8);
  for (const [index, [time]] of changes.entries()) times.writeBigInt64BE(BigInt(at(time) / 1000), index * 8);
  const indexes = Buffer.from(changes.map(([, index]) => index));
  const names = Buffer.from("ZON\0");
  const block = Buffer.concat([header(changes.length, offsets.length), times, indexes, types, names]);
  return Buffer.concat([header(0, 1), types.subarray(0, 6), names, block, Buffer.from(`\n${rule}\n`)]);
}

/** A rule, and the changes that follow from it in 2041. */
const rules: [rule: string, changes: string[]][] = [
  ["EST5EDT,M3.2.0,M11.1.0", ["2041-03-10T07:00 -4", "2041-11-03T06:00 -5"]],
  ["CET-1CEST,M3.5.0,M10.5.0/3", ["2041-03-31T01:00 2", "2041-10-27T01:00 1"]],
  ["<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", ["2041-04-06T15:00 10.5", "2041-10-05T15:30 11"]],
  ["<-02>2<-01>,M3.5.0/-1,M10.5.0/0", ["2041-03-31T01:00 -1", "2041-10-27T01:00 -2"]],
  ["IST-1GMT0,M10.5.0,M3.5.0/1", ["2041-03-31T01:00 1", "2041-10-27T01:00 0"]],
  ["EET-2EEST,M3.4.4/50,M10.4.4/50", ["2041-03-30T00:00 3", "2041-10-25T23:00 2"]],
  ["MST7", []],
];

test.each(rules)("a newer release of the system is followed beyond its last change: %s", async (rule, changes) => {
  const system = join(folder, `${Bun.hash(rule)}`);
  await Bun.write(join(system, "tzdata.zi"), "# version 2199a\n# This zic input file is in the public domain.\n");
  const file = compile([-3, -4], [["2007-03-01T00:00Z", 1]], rule);
  await Bun.write(join(system, "America", "Vancouver"), file);
  await Bun.write(join(system, "America", "New_Zone"), file);
  await Bun.write(join(system, "America", "Broken"), "TZ");
  const zones = openTimeZones(system);
  expect(zones).toMatchObject({ version: "2199a", folder: system });
  for (const name of ["america/vancouver", "America/New_Zone"]) {
    const zone = zones.find(name);
    expect(changesOf(zone, "1990-01-01T00:00Z", "2007-12-01T00:00Z")[0]).toBe("2007-03-01T00:00 -4");
    expect(changesOf(zone, "2041-01-01T00:00Z", "2041-12-31T23:00Z")).toEqual(changes);
  }
  // Absent there, the packaged ones are there.
  expect(zones.find("Europe/Berlin")?.(at("2026-07-01T00:00Z")).offsetMs).toBe(7_200_000);
  for (const name of ["America", "America/Broken", "../America/New_Zone", "tzdata.zi"]) {
    expect(zones.find(name)).toBeUndefined();
  }
});

test.each([
  ["tzdata.zi", "# version 2019c\n"],
  ["tzdata.zi", "# no version\n"],
  ["+VERSION", "2024a\n"],
])("an older or unknown release of the system is not used: %s", async (name, text) => {
  const system = join(folder, `${Bun.hash(name + text)}`);
  await Bun.write(join(system, name), text);
  await Bun.write(join(system, "America", "Vancouver"), compile([5], [], "EST5"));
  const { version, folder: used, find } = openTimeZones(system);
  const packaged = await Bun.file(Bun.resolveSync("moment-timezone/data/packed/latest.json", ".")).json();
  expect({ version, used }).toEqual({ version: packaged.version, used: undefined });
  expect(find("America/Vancouver")?.(at("2026-11-20T20:00:00Z")).offsetMs).toBe(-25_200_000);
});
