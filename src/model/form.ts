import type { z } from "zod";
import type { formChoiceSchema, formLineSchema, formSchema, formStyleSchema } from "./schemas/form.ts";

export type Form = z.infer<typeof formSchema>;
export type FormStyle = z.infer<typeof formStyleSchema>;
export type FormLine = z.infer<typeof formLineSchema>;
export type FormChoice = z.infer<typeof formChoiceSchema>;
