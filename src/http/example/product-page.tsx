/** @jsxImportSource hono/jsx */
import type { Product, Variant } from "../../product.ts";
import { widgetPath } from "../widget.ts";
import { Layout } from "./layout.tsx";
import { firstVariant, isOnSale, money, type Picture, picturesOf } from "./source.ts";
import styleNames from "./style-names.json" with { type: "json" };

/** The widget's script as the page of a storefront names it. */
const widgetScript = "/personalization-options.js";

/** What the data has no words for, given to the widget as a storefront gives it. */
const texts = JSON.stringify(styleNames);

interface ProductPageProps {
  readonly product: Product;
  /** Identifier of the variant that is asked for. */
  readonly variantId: string | undefined;
  readonly others: readonly Product[];
  readonly brand: string;
}

export function ProductPage({ product, variantId, others, brand }: ProductPageProps) {
  const { id, title, vendor, product_type } = product;
  const pictures = picturesOf(product);
  const variant = firstVariant(product, variantId);
  return (
    <Layout title={title} brand={brand} scripts={[widgetScript, "/example/script.js"]}>
      <article class="product">
        <Gallery pictures={pictures} shown={pictureOf(variant, pictures)} />
        <div>
          <p class="quiet">{[vendor, product_type].filter((text) => text !== "").join(" · ")}</p>
          <h1>{title}</h1>
          {variant === undefined ? (
            <p>This product has no variants.</p>
          ) : (
            <OrderForm product={product} variant={variant} pictures={pictures} />
          )}
        </div>
      </article>
      {variant === undefined ? "" : <HowItWorks id={id} sku={variant.sku} />}
      <More products={others} />
    </Layout>
  );
}

const pictureOf = (variant: Variant | undefined, pictures: readonly Picture[]) =>
  pictures.find(({ id }) => id === variant?.image_id) ?? pictures[0];

function Gallery({ pictures, shown }: { readonly pictures: readonly Picture[]; readonly shown: Picture | undefined }) {
  if (shown === undefined) return <p class="picture nothing">No picture</p>;
  return (
    <div class="gallery">
      <img class="picture" src={shown.path} alt={shown.alt} width={1000} height={1000} />
      {pictures.length < 2 ? (
        ""
      ) : (
        <ul aria-label="Pictures">
          {pictures.map((picture) => (
            <li>
              <a href={picture.path} {...(picture === shown && { "aria-current": "true" })}>
                <img src={picture.path} alt={picture.alt} width={96} height={96} />
              </a>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

interface OrderFormProps {
  readonly product: Product;
  readonly variant: Variant;
  readonly pictures: readonly Picture[];
}

/** A form as themes of the platform have it: `novalidate`, the variant in `id`, line item properties in `properties[…]`. */
function OrderForm({ product: { id, options, variants }, variant, pictures }: OrderFormProps) {
  return (
    <form action={`/example/products/${id}/cart`} novalidate>
      <p class="price">
        <span id="price">{money(variant.price)}</span> <s id="before">{beforeOf(variant)}</s>
      </p>
      {variants.length === 1 ? (
        <input type="hidden" name="id" value={`${variant.id}`} />
      ) : (
        <label>
          {options.map(({ name }) => name).join(", ") || "Variant"}
          <select name="id" autocomplete="off">
            {variants.map((one) => (
              <option
                value={`${one.id}`}
                selected={one === variant}
                disabled={!isOnSale(one)}
                data-sku={one.sku}
                data-price={money(one.price)}
                data-before={beforeOf(one)}
                data-picture={pictureOf(one, pictures)?.path}
              >
                {one.title}
                {isOnSale(one) ? "" : " (sold out)"}
              </option>
            ))}
          </select>
        </label>
      )}
      <personalization-options sku={variant.sku} texts={texts}>
        <p class="quiet">To have this personalized, call 1-800-555-0100.</p>
      </personalization-options>
      <label class="quantity">
        Quantity
        <input type="number" name="quantity" value="1" min="1" max="99" inputmode="numeric" />
      </label>
      <button type="submit" disabled={!isOnSale(variant)}>
        {isOnSale(variant) ? "Add to cart" : "Sold out"}
      </button>
    </form>
  );
}

/** What it cost, where that was more. */
const beforeOf = ({ price, compare_at_price }: Variant) =>
  compare_at_price !== null && Number(compare_at_price) > Number(price) ? money(compare_at_price) : "";

function HowItWorks({ id, sku }: { readonly id: Product["id"]; readonly sku: string }) {
  return (
    <section class="made-of">
      <h2>How this page is made</h2>
      <p>The product is what one operation answers, the personalization what another does:</p>
      <ul>
        <li>
          <a href={`/api/v1/products/${id}`}>{`GET /api/v1/products/${id}`}</a>
        </li>
        <li>
          <a id="answer" href={answerOf(sku)}>{`GET ${answerOf(sku)}`}</a>
        </li>
      </ul>
      <p>A script and an element within the product's form bring the personalization into any page:</p>
      <pre>
        <code>
          {markup[0]}
          <span id="sku">{sku}</span>
          {markup[1]}
        </code>
      </pre>
      <p>
        The script's address says nothing of its version, and is asked for again every five minutes. One that browsers
        keep for good is <code>{widgetPath}</code>.
      </p>
      <p>
        <a href="/docs">Reference of the operations</a>
      </p>
    </section>
  );
}

const answerOf = (sku: string) => `/api/v1/products/pz/${encodeURIComponent(sku)}`;

/** Before and after the SKU. */
const markup = [
  `<script type="module" src="${widgetScript}"></script>

<form action="/cart/add" method="post" novalidate>
  …
  <personalization-options sku="`,
  `"></personalization-options>
</form>`,
] as const;

function More({ products }: { readonly products: readonly Product[] }) {
  if (products.length === 0) return "";
  return (
    <nav aria-labelledby="more">
      <h2 id="more">More to look at</h2>
      <ul class="more">
        {products.map((product) => {
          const [picture] = picturesOf(product);
          const variant = firstVariant(product);
          return (
            <li>
              <a href={`/example/products/${product.id}`}>
                {picture === undefined ? "" : <img src={picture.path} alt="" width={320} height={320} loading="lazy" />}
                <span>{product.title}</span>
                <span class="quiet">{variant === undefined ? "" : money(variant.price)}</span>
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
