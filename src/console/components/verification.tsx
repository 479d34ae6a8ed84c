/** @jsxImportSource hono/jsx */
import { type CatalogTruth, verifiedAges } from "../../database/product-truth.ts";
import { durationInWords, formatNumber, pluralize } from "../../format.ts";
import { NumberCell, numeric, Table } from "./table.tsx";

/** How recently the stored products were known to match the platform. */
export const Verification = ({ truth }: { readonly truth: CatalogTruth }) => (
  <>
    <Table columns={["Last verified within", numeric("Products"), numeric("Share")]} label="Last verified">
      {verifiedAges.map((age, index) => (
        <tr>
          <th scope="row">{durationInWords(age)}</th>
          <NumberCell value={truth.verified[index] ?? 0} />
          <td class="number">{toPercent(truth.verified[index] ?? 0, truth.products)}</td>
        </tr>
      ))}
    </Table>
    {truth.unsettled === 0 ? "" : <p class="muted">{pluralize(truth.unsettled, "product")} will be read again.</p>}
    {truth.waiting === 0 ? (
      ""
    ) : (
      <p>{pluralize(truth.waiting, "product")} could not be read completely for more than a minute.</p>
    )}
  </>
);

/** Rounded down, so that 100 % means all. */
const toPercent = (count: number, of: number) => `${formatNumber(Math.floor((count / of) * 100))} %`;
