const weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const shortWeekdays = weekdays.map((day) => day.slice(0, 3).toUpperCase());

const nicknames: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
};

/**
 * Describes a cron expression: "every day at 03:30, New York".
 * @returns the expression itself when it has no simple description
 */
export function scheduleInWords(expression: string, timeZone: string): string {
  const words = describe((nicknames[expression.trim().toLowerCase()] ?? expression).trim().split(/\s+/));
  if (words === undefined) return `${expression} ${timeZone}`;
  const { text, hasTimeOfDay } = words;
  return hasTimeOfDay ? `${text}, ${placeOf(timeZone)}` : text;
}

const placeOf = (timeZone: string) => (timeZone.split("/").at(-1) ?? timeZone).replaceAll("_", " ");

interface Words {
  readonly text: string;
  /** Without one, the time zone makes no difference. */
  readonly hasTimeOfDay: boolean;
}

function describe(fields: readonly string[]): Words | undefined {
  // The first of six fields are seconds.
  if (fields.length === 6) return fields[0] === "0" ? describe(fields.slice(1)) : undefined;
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = fields;
  if (fields.length !== 5 || month !== "*") return undefined;
  const days = describeDays(day, weekday);
  if (days === undefined) return undefined;
  const times = describeTimes(minute, hour);
  if (times !== undefined) return { text: `${days} at ${times}`, hasTimeOfDay: true };
  const interval = days === "every day" ? describeInterval(minute, hour) : undefined;
  return interval === undefined ? undefined : { text: interval, hasTimeOfDay: false };
}

function describeDays(day: string, weekday: string): string | undefined {
  if (day === "*" && weekday === "*") return "every day";
  if (weekday === "*") return isNumber(day) ? `on day ${Number(day)} of every month` : undefined;
  if (day !== "*") return undefined;
  const [first = "", last] = weekday.split("-");
  if (last !== undefined) {
    const [from, to] = [weekdayOf(first), weekdayOf(last)];
    return from === undefined || to === undefined ? undefined : `${from} to ${to}`;
  }
  const names = weekday.split(",").map(weekdayOf);
  return names.every((name) => name !== undefined) ? `every ${joinWords(names)}` : undefined;
}

function weekdayOf(text: string): string | undefined {
  const index = isNumber(text) ? Number(text) % 7 : shortWeekdays.indexOf(text.toUpperCase());
  return weekdays[index];
}

/** One minute of one or several hours: "03:30 and 15:30". */
function describeTimes(minute: string, hour: string): string | undefined {
  const hours = hour.split(",");
  if (!isNumber(minute) || !hours.every(isNumber)) return undefined;
  return joinWords(hours.map((each) => `${each.padStart(2, "0")}:${minute.padStart(2, "0")}`));
}

function describeInterval(minute: string, hour: string): string | undefined {
  const [minutes, hours] = [stepOf(minute, 60), stepOf(hour, 24)];
  if (hours === 1 && minutes !== undefined) return minutes === 1 ? "every minute" : `every ${minutes} minutes`;
  if (!isNumber(minute) || hours === undefined) return undefined;
  const past = Number(minute) === 0 ? "" : `, at minute ${Number(minute)}`;
  return `${hours === 1 ? "every hour" : `every ${hours} hours`}${past}`;
}

/** The step of `*` or `*` + `/5`, if it divides the whole evenly. */
function stepOf(field: string, whole: number): number | undefined {
  if (field === "*") return 1;
  const step = Number(field.match(/^\*\/(\d+)$/)?.[1] ?? Number.NaN);
  return step > 0 && whole % step === 0 ? step : undefined;
}

const isNumber = (text: string) => /^\d{1,2}$/.test(text);

const joinWords = (words: readonly string[]) =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
