import { ServiceError } from "./errors.ts";

/**
 * @param about names the file in the message
 * @param bytes size so far, as stored or decompressed
 * @param maxMegabytes 0 for no limit
 * @throws ServiceError `invalid_input`
 */
export function limitSize(about: string, bytes: number, maxMegabytes: number): void {
  if (maxMegabytes === 0 || bytes <= maxMegabytes * 2 ** 20) return;
  throw new ServiceError("invalid_input", `${about}: larger than MAX_FILE_MEGABYTES allows (${maxMegabytes} MB)`);
}
