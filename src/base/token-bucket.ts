export interface Refill {
  /** Capacity in tokens. */
  readonly size: number;
  readonly perSecond: number;
}

/** @param left previous tokens; negative when more were taken */
export const refill = (left: number, passedS: number, { size, perSecond }: Refill): number =>
  Math.min(size, left + passedS * perSecond);
