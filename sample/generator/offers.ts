/** The styles that a product may offer, by the way it is personalized; the first is on every one of its SKUs. */
export const styleCodesOf = {
  engraving: "ENGMON3 ENGMON1 ENGBLK1 ENGBLK2 ENGBLK3 ENGSCR2 ENGCRST ENGDATE ENGMSG ENGNAMD GFTBOX",
  etching: "ETCMON3 ETCINIT ETCBLK2 ETCMOTF ETCWRTH ENGDATE GFTBOX",
  embroidery: "EMBNAME EMBMON3 EMBINIT EMBMOTF EMBSCR1",
  laser: "LASFAM LASNAME LASCOOR LASRECP GFTBOX",
  baby: "BBYNAME BBYBIRT BBYZOD ENGMON3 ENGBLK2 ENGDATE GFTBOX",
  ornament: "ORNNAME ORNFAMY ORNPAWS ENGSCR2 GFTBOX",
  jewelry: "ENGMON3 RNGSIZE RNGCRST JWLSTON JWLBACK GFTBOX",
} as const;

export type Family = keyof typeof styleCodesOf;
