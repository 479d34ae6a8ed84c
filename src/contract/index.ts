import { formSchema } from "./form.ts";
import { historiesSchema } from "./history.ts";
import { personalizationSchema, personalizationsSchema } from "./personalization.ts";
import { problemSchema } from "./problem.ts";
import { productAnswerSchema } from "./product.ts";

/**
 * The bodies of responses, for the documentation. The service starts without them: building schemas
 * takes time.
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
