import { readFileSync } from "node:fs";
import { join } from "node:path";
import packaged from "moment-timezone/data/packed/latest.json" with { type: "text" };

/** A period with one UTC offset. Instants are epoch milliseconds; `until` is exclusive. */
export interface Period {
  readonly from: number;
  readonly until: number;
  readonly offsetMs: number;
}

export type TimeZone = (instant: number) => Period;

export interface TimeZones {
  readonly version: string;
  /** Undefined for the packaged release. */
  readonly folder: string | undefined;
  find(name: string): TimeZone | undefined;
}

interface Change {
  readonly at: number;
  readonly offsetMs: number;
}

let newest: TimeZones | undefined;

/** The system's or the packaged release, whichever is newer. The runtime's own is older. */
export function timeZones(): TimeZones {
  newest ??= openTimeZones("/usr/share/zoneinfo");
  return newest;
}

/** Finds a time zone, or an offset such as `+02:00`; undefined if it is unknown. */
export function findTimeZone(name: string): TimeZone | undefined {
  if (!/^([+-]|utc$)/i.test(name)) return timeZones().find(name);
  try {
    const { offsetNanoseconds } = new Temporal.ZonedDateTime(0n, name);
    return toTimeZone([{ at: 0, offsetMs: offsetNanoseconds / 1e6 }]);
  } catch {
    return undefined;
  }
}

/** @param folder contains compiled zones, or does not exist */
export function openTimeZones(folder: string): TimeZones {
  const release = /"version": *"(\w+)"/.exec(packaged)?.[1] ?? "";
  const version = readVersion(folder);
  const isNewer = version > release;
  const found = new Map<string, TimeZone | undefined>();
  return {
    version: isNewer ? version : release,
    folder: isNewer ? folder : undefined,
    find(name) {
      if (!found.has(name)) {
        const compiled = isNewer ? readCompiled(folder, spell(name)) : undefined;
        const changes = compiled ?? readPackaged(name);
        found.set(name, changes && toTimeZone(changes));
      }
      return found.get(name);
    },
  };
}

function toTimeZone(changes: readonly Change[]): TimeZone {
  // Some changes affect only the zone's abbreviation.
  const offsets = changes.filter(({ offsetMs }, index) => offsetMs !== changes[index - 1]?.offsetMs);
  const periods = offsets.map(({ at, offsetMs }, index) => ({
    from: index === 0 ? Number.NEGATIVE_INFINITY : at,
    until: offsets[index + 1]?.at ?? Number.POSITIVE_INFINITY,
    offsetMs,
  }));
  return (instant) => {
    let [low, high] = [0, periods.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((periods[middle] as Period).from <= instant) low = middle;
      else high = middle - 1;
    }
    return periods[low] as Period;
  };
}

const minuteMs = 60_000;

/**
 * Searches the text, because parsing it takes longer than everything else. A zone is
 * `"name|abbreviations|offsets|index of each period's offset|length of each period|population"`
 * until 2499, an alias `"zone|other name"`.
 */
function readPackaged(name: string): Change[] | undefined {
  const escaped = RegExp.escape(name);
  const zone = new RegExp(`"${escaped}\\|[^|"]*\\|([^|"]*)\\|([^|"]*)\\|([^|"]*)\\|`, "i").exec(packaged);
  if (zone === null) {
    const target = new RegExp(`"([^|"]+)\\|${escaped}"`, "i").exec(packaged)?.[1];
    return target === undefined ? undefined : readPackaged(target);
  }
  const [, offsets = "", indexes = "", lengths = ""] = zone;
  // Offsets are minutes to the west, and lengths are minutes.
  const offsetsMs = offsets.split(" ").map((offset) => -Math.round(fromBase60(offset) * minuteMs));
  const lengthsBefore = [0, ...lengths.split(" ").map(fromBase60)];
  let minutes = 0;
  return [...indexes].map((index, period) => {
    minutes += lengthsBefore[period] ?? 0;
    return { at: Math.round(minutes * minuteMs), offsetMs: offsetsMs[digits.indexOf(index)] ?? 0 };
  });
}

/** Zone files need the exact capitalization. */
const spell = (name: string) => new RegExp(`["|](${RegExp.escape(name)})["|]`, "i").exec(packaged)?.[1] ?? name;

const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX";

function fromBase60(text: string): number {
  let value = 0;
  let divisor = 0;
  for (const character of text) {
    if (character === ".") divisor = 1;
    if (character === "." || character === "-") continue;
    value = value * 60 + digits.indexOf(character);
    divisor *= 60;
  }
  return (text.startsWith("-") ? -value : value) / (divisor || 1);
}

function readVersion(folder: string): string {
  // macOS has the latter.
  for (const name of ["tzdata.zi", "+VERSION"]) {
    try {
      const [firstLine = ""] = readFileSync(join(folder, name), "latin1").split("\n", 1);
      const version = /\b\d{4}[a-z]+\b/.exec(firstLine)?.[0];
      if (version !== undefined) return version;
    } catch {}
  }
  return "";
}

/** Reads a zone file (RFC 9636); undefined if there is none. */
function readCompiled(folder: string, name: string): Change[] | undefined {
  // Lower-case names belong to copies that count leap seconds.
  if (!/^[A-Z][\w+/-]*$/.test(name)) return undefined;
  let file: Buffer;
  try {
    file = readFileSync(join(folder, name));
  } catch {
    return undefined;
  }
  if (file.toString("latin1", 0, 4) !== "TZif") return undefined;
  const readHeader = (at: number) => {
    const readCount = (index: number) => file.readUInt32BE(at + 20 + index * 4);
    const [ut = 0, standard = 0, leaps = 0, times = 0, types = 0, characters = 0] = [0, 1, 2, 3, 4, 5].map(readCount);
    return { times, types, rest: (wordBytes: number) => characters + leaps * (wordBytes + 4) + standard + ut };
  };
  const headerBytes = 44;
  const typeBytes = 6;
  // The first block has 32-bit times, which the second one includes.
  const first = readHeader(0);
  const second = headerBytes + first.times * 5 + first.types * typeBytes + first.rest(4);
  const { times, types, rest } = readHeader(second);
  const timesAt = second + headerBytes;
  const typesAt = timesAt + times * 9;
  const toOffsetMs = (type: number) => file.readInt32BE(typesAt + type * typeBytes) * 1000;
  const changes = Array.from({ length: times }, (_, index) => ({
    at: Number(file.readBigInt64BE(timesAt + index * 8)) * 1000,
    offsetMs: toOffsetMs(file.readUInt8(timesAt + times * 8 + index)),
  }));
  const footer = file.toString("latin1", typesAt + types * typeBytes + rest(8)).trim();
  const lastAt = changes.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
  return [{ at: Number.NEGATIVE_INFINITY, offsetMs: toOffsetMs(0) }, ...changes, ...readRule(footer, lastAt)];
}

/** Derives the changes until 2499 from a POSIX rule, such as `EST5EDT,M3.2.0,M11.1.0`. */
function readRule(text: string, after: number): Change[] {
  const name = "(?:<[^>]+>|[A-Za-z]+)";
  const rule = new RegExp(`^${name}([^<A-Za-z]+)${name}([^,]*),M([^,/]+)/?([^,]*),M([^,/]+)/?(.*)$`);
  const [, standard, summer, start = "", startTime, end = "", endTime] = rule.exec(text) ?? [];
  // Without dates for changes, the last change remains in effect.
  if (standard === undefined) return [];
  const standardMs = -toMs(standard);
  const summerMs = summer ? -toMs(summer) : standardMs + 60 * minuteMs;
  const changes: Change[] = [];
  for (let year = new Date(Math.max(after, 0)).getUTCFullYear(); year < 2500; year++) {
    changes.push(
      { at: toDay(start, year) + toMs(startTime || "2") - standardMs, offsetMs: summerMs },
      { at: toDay(end, year) + toMs(endTime || "2") - summerMs, offsetMs: standardMs },
    );
  }
  return changes.filter(({ at }) => at > after).sort((a, b) => a.at - b.at);
}

/** Converts `-5:30`: hours, minutes, and seconds. */
function toMs(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.replace(/[+-]/, "").split(":").map(Number);
  return (text.startsWith("-") ? -1 : 1) * (hours * 60 + minutes + seconds / 60) * minuteMs;
}

/** The start of the day `month.week.weekday`, as if local times were UTC. */
function toDay(text: string, year: number): number {
  const [month = 0, week = 0, weekday = 0] = text.split(".").map(Number);
  const firstWeekday = new Date(Date.UTC(year, month - 1, 1)).getUTCDay();
  const day = 1 + ((weekday - firstWeekday + 7) % 7) + (week - 1) * 7;
  // Week 5 is the last one of the month.
  return Date.UTC(year, month - 1, day > new Date(Date.UTC(year, month, 0)).getUTCDate() ? day - 7 : day);
}
