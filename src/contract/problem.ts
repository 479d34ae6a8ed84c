import { z } from "zod";

export const problemSchema = z
  .object({
    type: z.string().describe("`about:blank`: the title has the full meaning."),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    request_id: z.string().describe("The request reference to quote when reporting the error."),
  })
  .meta({ id: "Problem", description: "Error details (RFC 9457)." });
