/** How a bucket of tokens fills up. */
export interface Refill {
  /** The most tokens that it holds. */
  readonly size: number;
  readonly perSecond: number;
}

/**
 * The tokens of a bucket some time after it had others.
 * @param left tokens that it had; negative when more were taken
 */
export const refill = (left: number, passedS: number, { size, perSecond }: Refill): number =>
  Math.min(size, left + passedS * perSecond);
