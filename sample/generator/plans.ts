import { baby } from "./catalog/baby.ts";
import { barware } from "./catalog/barware.ts";
import { dinnerware } from "./catalog/dinnerware.ts";
import { flatware } from "./catalog/flatware.ts";
import { frames } from "./catalog/frames.ts";
import { glassware } from "./catalog/glassware.ts";
import { holiday } from "./catalog/holiday.ts";
import { jewelry } from "./catalog/jewelry.ts";
import { keepsakes } from "./catalog/keepsakes.ts";
import { kitchen } from "./catalog/kitchen.ts";
import { linens } from "./catalog/linens.ts";
import { ornaments } from "./catalog/ornaments.ts";
import { silver } from "./catalog/silver.ts";
import { teaAndCoffee } from "./catalog/tea-and-coffee.ts";

export const plans = [
  ...dinnerware,
  ...teaAndCoffee,
  ...glassware,
  ...barware,
  ...flatware,
  ...silver,
  ...linens,
  ...frames,
  ...keepsakes,
  ...baby,
  ...ornaments,
  ...holiday,
  ...kitchen,
  ...jewelry,
];
