import { fromArray, type LazyList } from "./list.ts";
import { hashPair, pick, roll } from "./random.ts";
import type { ProductSource } from "./recipe.ts";
import type { ImageRecord, MediaImageRecord, MediaRecord, OtherMediaRecord } from "./records.ts";
import { toTimestamp } from "./times.ts";
import { sentences } from "./words.ts";

const files = "https://cdn.shopify.com/s/files/1/0533/2089";

/** The deprecated `images` connection, the only source of ProductImage ids. */
export function listImages(source: ProductSource): LazyList<ImageRecord> {
  return { length: source.shape.images, at: (index) => createImage(source, index + 1) };
}

export function createImage(source: ProductSource, position: number): ImageRecord {
  const base = hashPair(source.base, 10_000 + position);
  const sizeKnown = !source.traits.nulls && roll(base, 1, 30) !== 0;
  const alt = source.traits.nulls ? null : pick(base, 2, [null, "", sentences[1], "Front", "Détail du bord"]);
  return {
    __typename: "Image",
    id: `gid://shopify/ProductImage/${source.ids.image(position)}`,
    url: `${files}/products/${fileOf(source, position)}?v=${source.createdAt}`,
    altText: alt,
    width: sizeKnown ? 800 + roll(base, 3, 1200) : null,
    height: sizeKnown ? 800 + roll(base, 4, 1200) : null,
    ...source.edit?.images?.[position],
  };
}

function fileOf(source: ProductSource, position: number): string {
  return `${source.base.toString(36)}_${position}.jpg`;
}

/** The same images as media, with ids of another number space, and other media between them. */
export function listMedia(source: ProductSource): LazyList<MediaRecord> {
  const media: MediaRecord[] = [];
  const rolledInterval = roll(source.base, 11, 6) === 0 ? 2 : Number.POSITIVE_INFINITY;
  const otherMediaInterval = source.traits.mixedMedia ? 5 : rolledInterval;
  for (let position = 1; position <= source.shape.images; position += 1) {
    media.push(createMediaImage(source, position));
    if (position % otherMediaInterval === 0) media.push(createOther(source, position, media.length + 1));
  }
  if (source.traits.mixedMedia) media.splice(3, 0, createUnfinished(source));
  return fromArray(media);
}

export function createMediaImage(source: ProductSource, position: number): MediaImageRecord {
  const base = hashPair(source.base, 20_000 + position);
  const image = createImage(source, position);
  const createdAt = source.createdAt + position;
  const file = fileOf(source, position);
  // The version after `?v=` may differ between image and media, so only host and path match.
  const url = source.traits.movedMedia
    ? `${files}/files/moved_${file}?v=${createdAt}`
    : `${files}/products/${file}?v=${source.createdAt + roll(base, 1, 3) * 1000}`;
  return {
    __typename: "MediaImage",
    id: `gid://shopify/MediaImage/${source.ids.media(position)}`,
    alt: image.altText ?? "",
    mediaContentType: "IMAGE",
    status: "READY",
    createdAt: toTimestamp(createdAt),
    updatedAt: toTimestamp(createdAt + roll(base, 2, 86_400)),
    image: { ...image, id: `gid://shopify/ImageSource/${source.ids.imageSource(position)}`, url },
  };
}

/** An unfinished upload: a MediaImage without an image and without a counterpart in `images`. */
function createUnfinished(source: ProductSource): MediaImageRecord {
  return { ...createMediaImage(source, source.shape.images + 1), status: "PROCESSING", image: null };
}

function createOther(source: ProductSource, position: number, place: number): OtherMediaRecord {
  const kind = pick(source.base, 30_000 + position, otherKinds);
  const id = source.ids.media(2048 + place);
  return { ...kind, id: `gid://shopify/${kind.__typename}/${id}`, alt: null, status: "READY" };
}

const otherKinds = [
  { __typename: "Video", mediaContentType: "VIDEO" },
  { __typename: "ExternalVideo", mediaContentType: "EXTERNAL_VIDEO" },
  { __typename: "Model3d", mediaContentType: "MODEL_3D" },
] as const;
