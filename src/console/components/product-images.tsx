/** @jsxImportSource hono/jsx */
import { pluralize } from "../../base/format.ts";
import type { Image } from "../../contract/product.ts";
import { sampleImagePath } from "../../sample/shop.ts";
import { originOf } from "../urls.ts";
import { Section } from "./elements.tsx";

/** A catalog normally uses one or two image hosts. */
const originLimit = 4;

export function imageOrigins(images: readonly Image[]): string[] {
  const origins = images.map(({ src }) => originOf(src)).filter((origin) => origin !== undefined);
  return [...new Set(origins)].slice(0, originLimit);
}

/** Points the sample's images to the public listener, whose port the sample data can't know. */
export function withSampleImageUrls(images: readonly Image[], root: string): Image[] {
  return images.map((image) => {
    const path = sampleImagePath(image.src);
    return path === undefined ? image : { ...image, src: root + path };
  });
}

interface ProductImagesProps {
  readonly images: readonly Image[];
  readonly allowedOrigins: readonly string[];
}

export const ProductImages = ({ images, allowedOrigins }: ProductImagesProps) => (
  <Section id="images" title="Images">
    {images.length === 0 ? (
      <p class="muted">None.</p>
    ) : (
      <ul class="images">
        {images.map((image) => (
          <li>
            <ProductImage image={image} isAllowed={allowedOrigins.includes(originOf(image.src) ?? "")} />
          </li>
        ))}
      </ul>
    )}
  </Section>
);

function ProductImage({ image, isAllowed }: { readonly image: Image; readonly isAllowed: boolean }) {
  const { src, alt, width, height, position, variant_ids } = image;
  const usage = variant_ids.length === 0 ? "" : `, shows ${pluralize(variant_ids.length, "variant")}`;
  return (
    <figure>
      {isAllowed ? (
        <a href={src} rel="noreferrer">
          <img
            src={src}
            alt={alt ?? `Image ${position}, no description`}
            width={width}
            height={height}
            loading="lazy"
            referrerpolicy="no-referrer"
          />
        </a>
      ) : (
        <p class="muted">Not shown: this page does not load images from this URL.</p>
      )}
      <figcaption>
        {alt ?? <span class="muted">no description</span>}
        <div class="muted">
          {position}. {width} × {height}
          {usage}
        </div>
        {isAllowed ? "" : <code class="excerpt">{src}</code>}
      </figcaption>
    </figure>
  );
}
