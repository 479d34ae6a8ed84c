/** Time between two changes of a zone's UTC offset, in epoch milliseconds; `until` is exclusive. */
interface Period {
  readonly from: number;
  readonly until: number;
  readonly offsetMs: number;
  /** As printed: `-05:00`. */
  readonly offset: string;
}

/**
 * Converts UTC timestamps to a time zone: `2026-03-08T06:30:00Z` becomes
 * `2026-03-08T01:30:00-05:00`. Fractions of a second are dropped.
 * @returns a function that throws RangeError when its text is not an instant
 * @throws Error when the zone is unknown
 */
export function localTimeFormatter(ianaTimezone: string): (utc: string) => string {
  const epoch = epochIn(ianaTimezone);
  // A reconcile converts millions of timestamps from a few dozen periods. Caching those halves the
  // time.
  const periods: Period[] = [];
  return (utc) => {
    const instant = Temporal.Instant.from(utc).epochMilliseconds;
    let period = periods.find(({ from, until }) => from <= instant && instant < until);
    if (period === undefined) {
      period = readPeriod(epoch, instant);
      periods.push(period);
    }
    return new Date(instant + period.offsetMs).toISOString().slice(0, -".000Z".length) + period.offset;
  };
}

function epochIn(zone: string): Temporal.ZonedDateTime {
  try {
    return new Temporal.ZonedDateTime(0n, zone);
  } catch (cause) {
    throw new Error(`the shop's time zone ${JSON.stringify(zone)} is unknown`, { cause });
  }
}

function readPeriod(epoch: Temporal.ZonedDateTime, instant: number): Period {
  const time = epoch.add({ milliseconds: instant });
  // One millisecond later, so that a transition at this very instant counts as previous.
  const from = time.add({ milliseconds: 1 }).getTimeZoneTransition("previous");
  const until = time.getTimeZoneTransition("next");
  return {
    from: from?.epochMilliseconds ?? Number.NEGATIVE_INFINITY,
    until: until?.epochMilliseconds ?? Number.POSITIVE_INFINITY,
    offsetMs: time.offsetNanoseconds / 1e6,
    // Unlike the property `offset`, this never has seconds (Liberia until 1972).
    offset: time.toString({ timeZoneName: "never" }).slice(-"+hh:mm".length),
  };
}
