/** A stretch of time between two changes of a zone's clocks, in epoch milliseconds: `from` belongs to it, `until` does not. */
interface Period {
  readonly from: number;
  readonly until: number;
  readonly offsetMs: number;
  /** As it is printed: `-05:00`. */
  readonly offset: string;
}

/**
 * Puts the platform's timestamps, which are in UTC, into a zone: `2026-03-08T06:30:00Z` becomes `2026-03-08T01:30:00-05:00`,
 * with the offset of that very instant; a fraction of a second is dropped.
 * @returns a function that throws RangeError when its text is no instant
 * @throws Error when the zone is unknown
 */
export function createZone(ianaTimezone: string): (utc: string) => string {
  const epoch = epochIn(ianaTimezone);
  // A reconcile asks millions of times, and some dozens of periods answer: half the time that the zone's own arithmetic takes.
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
  // What came before a millisecond later came before this instant or at it.
  const from = time.add({ milliseconds: 1 }).getTimeZoneTransition("previous");
  const until = time.getTimeZoneTransition("next");
  return {
    from: from?.epochMilliseconds ?? Number.NEGATIVE_INFINITY,
    until: until?.epochMilliseconds ?? Number.POSITIVE_INFINITY,
    offsetMs: time.offsetNanoseconds / 1e6,
    // The property `offset` has seconds where the clocks had (Liberia until 1972); this form has none.
    offset: time.toString({ timeZoneName: "never" }).slice(-"+hh:mm".length),
  };
}
