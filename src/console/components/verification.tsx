/** @jsxImportSource hono/jsx */
import { durationInWords, formatNumber, pluralize } from "../../base/format.ts";
import { type CatalogTruth, verifiedAges } from "../../catalog/product-truth.ts";
import { Table } from "./table.tsx";

/** How recently the stored products were compared with the platform. */
export const Verification = ({ truth }: { readonly truth: CatalogTruth }) => (
  <>
    <Table
      columns={[
        { title: "Last verified within", value: ([age]) => durationInWords(age) },
        { title: "Products", value: ([, products]) => products, isNumber: true },
        { title: "Share", value: ([, products]) => toPercent(products, truth.products), isNumber: true },
      ]}
      rows={verifiedAges.map((age, index) => [age, truth.verified[index] ?? 0] as const)}
      label="Last verified"
    />
    {truth.unsettled !== 0 && <p class="muted">{pluralize(truth.unsettled, "product")} will be read again.</p>}
    {truth.waiting !== 0 && (
      <p>{pluralize(truth.waiting, "product")} could not be read completely for more than a minute.</p>
    )}
  </>
);

/** Rounded down, so that 100 % means all. */
const toPercent = (count: number, of: number) => `${formatNumber(Math.floor((count / of) * 100))} %`;
