interface VendorHabits {
  /** First digits of its barcodes. */
  readonly company: string;
  readonly toSku: (number: number, position: number) => string;
}

/** The suppliers spell their SKUs each in their own way, one of them with a space and a slash. */
export const vendors = {
  "Larkspur & Finch": { company: "810274", toSku: (number) => `${number}` },
  "Halcyon & Rowe": { company: "850031", toSku: (number) => `${number}` },
  "Juniper Lane Linens": { company: "794512", toSku: (number) => `1${number}` },
  "Maison Corvellier": { company: "376009", toSku: (number, position) => `MC ${number}/${position}` },
  "Östervik Glas": { company: "735002", toSku: (number) => `OV.${number}` },
  "Pell Harbor Silver": { company: "812990", toSku: (number) => `PH-${number}` },
  "Thornbury Mill": { company: "860417", toSku: (number) => `TM${number}W` },
  "Wrenfield Pottery": {
    company: "850772",
    toSku: (number, position) => `wp_${number}-${`${position}`.padStart(2, "0")}`,
  },
} as const satisfies Record<string, VendorHabits>;

export type Vendor = keyof typeof vendors;
