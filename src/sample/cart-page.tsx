/** @jsxImportSource hono/jsx */
import type { Product } from "../contract/product.ts";
import { drawnImagesOf, formatPrice, selectVariant } from "./catalog.ts";
import { Layout } from "./layout.tsx";

type Field = readonly [name: string, value: string];

interface CartPageProps {
  readonly product: Product;
  /** In form order. */
  readonly fields: readonly Field[];
  readonly brand: string;
}

/** Shows the line item as the platform's cart would, and the submitted fields. */
export function CartPage({ product, fields, brand }: CartPageProps) {
  const fieldValue = (name: string) => fields.find(([field]) => field === name)?.[1];
  const variant = selectVariant(product, fieldValue("id"));
  const [image] = drawnImagesOf(product);
  const details = [
    ...(variant === undefined || product.variants.length === 1 ? [] : [variant.title]),
    ...(variant === undefined ? [] : [formatPrice(variant.price)]),
    `Quantity ${fieldValue("quantity") ?? "1"}`,
  ];
  return (
    <Layout title="Cart" brand={brand}>
      <h1>In your cart</h1>
      <article class="line-item">
        {image !== undefined && <img src={image.path} alt="" width={160} height={160} />}
        <div>
          <h2>{product.title}</h2>
          <p class="muted">{details.join(" · ")}</p>
          <dl>
            {fields.flatMap(toVisibleProperty).map(([name, value]) => (
              <div>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
          <p>
            <a href={`/example/products/${product.id}`}>Back to the product</a>
          </p>
        </div>
      </article>
      <SubmittedFields fields={fields} />
    </Layout>
  );
}

const SubmittedFields = ({ fields }: { readonly fields: readonly Field[] }) => (
  <section class="explanation" aria-labelledby="submitted">
    <h2 id="submitted">Submitted form fields</h2>
    <p>
      A theme submits these fields to the platform's <code>/cart/add</code>. Properties whose names start with an
      underscore stay on the order but are hidden from the shopper: the style code, and the entity tag of the
      personalization that the shopper saw.
    </p>
    <table aria-labelledby="submitted">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Value</th>
        </tr>
      </thead>
      <tbody>
        {fields.map(([name, value]) => (
          <tr>
            <th scope="row">
              <code>{name}</code>
            </th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);

/** Returns nothing for other fields and hidden properties. */
function toVisibleProperty([name, value]: Field): Field[] {
  const [, property] = name.match(/^properties\[([^_].*)\]$/s) ?? [];
  return property === undefined ? [] : [[property, value]];
}
