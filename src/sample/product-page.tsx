/** @jsxImportSource hono/jsx */
import { personalizationPath } from "../contract/personalization.ts";
import type { Product, Variant } from "../contract/product.ts";
import { type DrawnImage, drawnImagesOf, formatPrice, isForSale, selectVariant } from "./catalog.ts";
import { HowItWorks } from "./how-it-works.tsx";
import { Layout } from "./layout.tsx";

interface ProductPageProps {
  readonly product: Product;
  readonly variantId: string | undefined;
  readonly recommendations: readonly Product[];
  readonly brand: string;
  /** How the service's URLs begin for other sites; empty for relative URLs. */
  readonly publicUrl: string;
  /** Includes the version. */
  readonly widgetPath: string;
}

export function ProductPage({ product, variantId, recommendations, brand, publicUrl, widgetPath }: ProductPageProps) {
  const { id, title, vendor, product_type } = product;
  const images = drawnImagesOf(product);
  const variant = selectVariant(product, variantId);
  return (
    <Layout title={title} brand={brand} scripts={["/personalization-options.js", "/example/script.js"]}>
      <article class="product">
        <Gallery images={images} selected={imageOf(variant, images)} />
        <div>
          <p class="muted">{[vendor, product_type].filter((text) => text !== "").join(" · ")}</p>
          <h1>{title}</h1>
          {variant === undefined ? (
            <p>This product has no variants.</p>
          ) : (
            <OrderForm product={product} variant={variant} images={images} />
          )}
        </div>
      </article>
      {variant !== undefined && <HowItWorks id={id} sku={variant.sku} publicUrl={publicUrl} widgetPath={widgetPath} />}
      <Recommendations products={recommendations} />
    </Layout>
  );
}

const imageOf = (variant: Variant | undefined, images: readonly DrawnImage[]) =>
  images.find(({ id }) => id === variant?.image_id) ?? images[0];

interface GalleryProps {
  readonly images: readonly DrawnImage[];
  readonly selected: DrawnImage | undefined;
}

function Gallery({ images, selected }: GalleryProps) {
  if (selected === undefined) return <p class="picture missing">No image</p>;
  return (
    <div class="gallery">
      <img class="picture" src={selected.path} alt={selected.alt} width={1000} height={1000} />
      {images.length >= 2 && (
        <ul aria-label="Images">
          {images.map((image) => (
            <li>
              <a href={image.path} {...(image === selected && { "aria-current": "true" })}>
                <img src={image.path} alt={image.alt} width={96} height={96} />
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
  readonly images: readonly DrawnImage[];
}

/**
 * Matches the product form of the platform's themes: `novalidate`, the variant ID in `id`, line
 * item properties in `properties[…]`.
 */
function OrderForm({ product, variant, images }: OrderFormProps) {
  const isAvailable = isForSale(variant);
  return (
    <form action={`/example/products/${product.id}/cart`} novalidate>
      <p class="price">
        <span id="price">{formatPrice(variant.price)}</span> <s id="original-price">{originalPriceOf(variant)}</s>
      </p>
      <VariantField product={product} variant={variant} images={images} />
      <personalization-options sku={variant.sku}>
        <p class="muted">To have this personalized, call 1-800-555-0100.</p>
      </personalization-options>
      <label class="quantity">
        Quantity
        <input type="number" name="quantity" value="1" min="1" max="99" inputmode="numeric" />
      </label>
      <button type="submit" disabled={!isAvailable}>
        {isAvailable ? "Add to cart" : "Sold out"}
      </button>
    </form>
  );
}

function VariantField({ product: { options, variants }, variant: selected, images }: OrderFormProps) {
  if (variants.length === 1) return <input type="hidden" name="id" value={`${selected.id}`} />;
  return (
    <label>
      {options.map(({ name }) => name).join(", ") || "Variant"}
      <select name="id" autocomplete="off">
        {variants.map((variant) => (
          <option
            value={`${variant.id}`}
            selected={variant === selected}
            disabled={!isForSale(variant)}
            data-sku={variant.sku}
            data-request={`/api/v1${personalizationPath(variant.sku)}`}
            data-price={formatPrice(variant.price)}
            data-original-price={originalPriceOf(variant)}
            data-image={imageOf(variant, images)?.path}
          >
            {variant.title}
            {isForSale(variant) ? "" : " (sold out)"}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The price before a markdown; empty when the price is not reduced. */
const originalPriceOf = ({ price, compare_at_price }: Variant) =>
  compare_at_price !== null && Number(compare_at_price) > Number(price) ? formatPrice(compare_at_price) : "";

function Recommendations({ products }: { readonly products: readonly Product[] }) {
  if (products.length === 0) return "";
  return (
    <nav aria-labelledby="recommendations">
      <h2 id="recommendations">You may also like</h2>
      <ul class="recommendations">
        {products.map((product) => {
          const [image] = drawnImagesOf(product);
          const variant = selectVariant(product);
          return (
            <li>
              <a href={`/example/products/${product.id}`}>
                {image !== undefined && <img src={image.path} alt="" width={320} height={320} loading="lazy" />}
                <span>{product.title}</span>
                <span class="muted">{variant === undefined ? "" : formatPrice(variant.price)}</span>
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
