/** @jsxImportSource hono/jsx */
import type { Product } from "../../product.ts";
import { Layout } from "./layout.tsx";
import { firstVariant, money, picturesOf } from "./source.ts";

type Entry = readonly [name: string, value: string];

interface CartPageProps {
  readonly product: Product;
  /** What the form sent, in its order. */
  readonly entries: readonly Entry[];
  readonly brand: string;
}

/** What a platform's cart would show of an order, and what it was sent. */
export function CartPage({ product, entries, brand }: CartPageProps) {
  const sent = (name: string) => entries.find(([one]) => one === name)?.[1];
  const variant = firstVariant(product, sent("id"));
  const [picture] = picturesOf(product);
  return (
    <Layout title="Cart" brand={brand}>
      <h1>In your cart</h1>
      <article class="line-item">
        {picture === undefined ? "" : <img src={picture.path} alt="" width={160} height={160} />}
        <div>
          <h2>{product.title}</h2>
          <p class="quiet">
            {variant === undefined || product.variants.length === 1 ? "" : `${variant.title} · `}
            {variant === undefined ? "" : `${money(variant.price)} · `}
            {`Quantity ${sent("quantity") ?? "1"}`}
          </p>
          <dl>
            {entries.flatMap(toProperty).map(([name, value]) => (
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
      <section class="made-of" aria-labelledby="sent">
        <h2 id="sent">What the form sent</h2>
        <p>
          A theme sends this to the platform's <code>/cart/add</code>. Properties whose name begins with an underscore
          go with the order and are not shown to the shopper: the style's code, and the mark of the answer that the
          shopper saw.
        </p>
        <table aria-labelledby="sent">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Value</th>
            </tr>
          </thead>
          <tbody>
            {entries.map(([name, value]) => (
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
    </Layout>
  );
}

/** A line item property that the platform shows to the shopper. */
function toProperty([name, value]: Entry): Entry[] {
  const [, property] = name.match(/^properties\[([^_].*)\]$/s) ?? [];
  return property === undefined ? [] : [[property, value]];
}
