import { formSchema } from "./form.ts";
import { historiesSchema } from "./history.ts";
import { personalizationSchema, personalizationsSchema } from "./personalization.ts";
import { problemSchema } from "./problem.ts";
import { productAnswerSchema } from "./product.ts";

/**
 * Response bodies, for the documentation. They are loaded on demand, because building schemas takes
 * time at startup.
 */
export const schemas = {
  Form: formSchema,
  Histories: historiesSchema,
  Personalization: personalizationSchema,
  Personalizations: personalizationsSchema,
  Problem: problemSchema,
  ProductAnswer: productAnswerSchema,
};

export type SchemaName = keyof typeof schemas;
