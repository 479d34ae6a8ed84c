/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import { readNow } from "../database/database.ts";
import { type FoundProduct, findProduct } from "../database/product.ts";
import { parseJson, toReadableJson } from "../json.ts";
import { type Image, type Metafield, type Product, parseProductId, type Variant } from "../product.ts";
import { sampleImagePath } from "../sample.ts";
import { type ConsoleContext, publicOrigin } from "./context.ts";
import { Copy, isMarkup } from "./copy.tsx";
import { number } from "./format.ts";
import { Layout } from "./layout.tsx";
import { asked, originOf, type Render, toPage } from "./page.ts";
import { Empty, Facts, FullTime, Raw, SkuLink, Table } from "./parts.tsx";

/** Hosts whose images a page lets in: a catalog has one or two. */
const admittedHosts = 4;

/** `GET /products/:id`: all that is stored of a product. */
export function productPage(context: ConsoleContext): Render {
  return async (request) => {
    const { database } = context;
    const id = parseProductId(request.parameter("id"));
    const found = id === undefined ? undefined : await findProduct(database, id);
    if (found === undefined) return undefined;
    const product = parseJson(new TextDecoder().decode(found.document)) as Product;
    const origin = publicOrigin(context, request);
    const images = context.drawsSampleImages === true ? product.images.map(toDrawn(origin)) : product.images;
    const now = Date.parse(await readNow(database));
    const origins = originsOf(images);
    return toPage(
      <Layout title={product.title === "" ? `Product ${product.id}` : product.title} section="/products">
        <ProductFacts product={product} found={found} now={now} address={`${origin}/api/v1/products/${product.id}`} />
        <Images images={images} admitted={origins} />
        <Section id="description" title="Description">
          {product.body_html === "" ? (
            <p class="quiet">There is none.</p>
          ) : (
            <Copy html={product.body_html} title="Description of the product" />
          )}
        </Section>
        <Options product={product} />
        <Variants product={product} shown={product.variants.find(({ id }) => `${id}` === asked(request, "variant"))} />
        <Section id="metafields" title="Metafields">
          <Metafields metafields={product.metafields} of="the product" />
        </Section>
        <Section id="raw" title="Raw JSON">
          <details>
            <summary>The product as it is stored</summary>
            <Raw label="The product as JSON" text={toReadableJson(product)} />
          </details>
        </Section>
      </Layout>,
      { admission: { images: origins } },
    );
  };
}

const Section = ({
  id,
  title,
  children,
}: {
  readonly id: string;
  readonly title: string;
  readonly children?: Child;
}) => (
  <section aria-labelledby={id}>
    <h2 id={id}>{title}</h2>
    {children}
  </section>
);

interface ProductFactsProps {
  readonly product: Product;
  readonly found: FoundProduct;
  readonly now: number;
  /** Where clients find it. */
  readonly address: string;
}

function ProductFacts({ product, found, now, address }: ProductFactsProps) {
  const { id, handle, status, vendor, product_type, tags, created_at, updated_at, published_at } = product;
  const time = (at: string | null, otherwise: string) =>
    at === null ? otherwise : <FullTime at={new Date(at).toISOString()} now={now} />;
  return (
    <Facts
      facts={[
        ["Identifier", <code>{`${id}`}</code>],
        ["Handle", <code>{handle}</code>],
        ["Status", status],
        ["Vendor", vendor],
        ["Type", product_type === "" ? "none" : product_type],
        ["Tags", tags === "" ? "none" : tags],
        ["Created", time(created_at, "")],
        ["Changed", time(updated_at, "")],
        ["Published", time(published_at, "not published")],
        ["Known to be right", time(found.checkedAt, "never compared with the platform")],
        ["Entity tag", <code>{found.tag}</code>],
        ["Stored", `${number(found.document.length)} bytes of JSON`],
        ["Public answer", <a href={address}>as clients see it</a>],
      ]}
    />
  );
}

/** An image of the sample where it is drawn: its catalog cannot know on which port that is. */
const toDrawn =
  (origin: string) =>
  (image: Image): Image => {
    const path = sampleImagePath(image.src);
    return path === undefined ? image : { ...image, src: origin + path };
  };

function originsOf(images: readonly Image[]): string[] {
  const origins = images.map(({ src }) => originOf(src)).filter((origin) => origin !== undefined);
  return [...new Set(origins)].slice(0, admittedHosts);
}

function Images({ images, admitted }: { readonly images: readonly Image[]; readonly admitted: readonly string[] }) {
  return (
    <Section id="images" title="Images">
      {images.length === 0 ? (
        <p class="quiet">There is none.</p>
      ) : (
        <ul class="images">
          {images.map((image) => (
            <li>
              <Picture image={image} isAdmitted={admitted.includes(originOf(image.src) ?? "")} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Picture({ image, isAdmitted }: { readonly image: Image; readonly isAdmitted: boolean }) {
  const { src, alt, width, height, position, variant_ids } = image;
  const shown = isAdmitted ? (
    <a href={src} rel="noreferrer">
      <img
        src={src}
        alt={alt ?? `Image ${position}, without a description`}
        width={width}
        height={height}
        loading="lazy"
        referrerpolicy="no-referrer"
      />
    </a>
  ) : (
    <p class="quiet">Not shown: its address is of a kind or host that this page does not let in.</p>
  );
  return (
    <figure>
      {shown}
      <figcaption>
        {alt ?? <span class="quiet">no description</span>}
        <div class="quiet">
          {position}. {width} × {height}
          {variant_ids.length === 0
            ? ""
            : `, shows ${variant_ids.length === 1 ? "1 variant" : `${variant_ids.length} variants`}`}
        </div>
        {isAdmitted ? "" : <code class="excerpt">{src}</code>}
      </figcaption>
    </figure>
  );
}

const Options = ({ product }: { readonly product: Product }) => (
  <Section id="options" title="Options">
    <Facts facts={product.options.map(({ name, values }) => [name, values.join(", ")] as const)} />
  </Section>
);

interface VariantsProps {
  readonly product: Product;
  /** The one whose metafields are asked for. */
  readonly shown: Variant | undefined;
}

function Variants({ product: { id, variants }, shown }: VariantsProps) {
  return (
    <Section id="variants" title={`Variants (${number(variants.length)})`}>
      {variants.length === 0 ? (
        <Empty title="There is none." />
      ) : (
        <Table
          head={["Variant", "SKU", "Price", "Before", "Stock", "Barcode", "Weight", "Identifier"]}
          label="Variants"
        >
          {variants.map((variant) => (
            <tr>
              <th scope="row">
                <a href={`/products/${id}?variant=${variant.id}#variant`}>
                  {variant.title === "" ? "Without a title" : variant.title}
                </a>
              </th>
              <td>{variant.sku === "" ? <span class="quiet">none</span> : <SkuLink sku={variant.sku} />}</td>
              <td class="number">{variant.price}</td>
              <td>{variant.compare_at_price ?? ""}</td>
              <td class="number">{number(variant.inventory_quantity)}</td>
              <td>{variant.barcode}</td>
              <td>
                {variant.weight} {variant.weight_unit}
              </td>
              <td>{`${variant.id}`}</td>
            </tr>
          ))}
        </Table>
      )}
      {shown === undefined ? (
        <p class="quiet">A variant's title leads to its metafields.</p>
      ) : (
        <section aria-labelledby="variant">
          <h3 id="variant">
            Metafields of {shown.title} {shown.sku}
          </h3>
          <Metafields metafields={shown.metafields} of={`the variant ${shown.title} ${shown.sku}`} />
        </section>
      )}
    </Section>
  );
}

function Metafields({ metafields, of }: { readonly metafields: readonly Metafield[]; readonly of: string }) {
  if (metafields.length === 0) return <p class="quiet">There is none.</p>;
  return (
    <Table head={["Key", "Value"]} label={`Metafields of ${of}`}>
      {metafields.map(({ namespace, key, value }) => (
        <tr>
          <th scope="row">
            <code>{key}</code>
            {namespace === "global" ? "" : <div class="quiet">{namespace}</div>}
          </th>
          <td class="long">{isMarkup(value) ? <Copy html={value} title={`${key} of ${of}`} /> : value}</td>
        </tr>
      ))}
    </Table>
  );
}
