export const patterns = [
  "Harbor Light",
  "Winter Orchard",
  "Blue Meridian",
  "Gilded Fern",
  "Opal Coast",
  "Copper Finch",
  "Linen Fields",
  "Moonlit Tide",
  "Rosemary Lane",
  "Silver Birch",
  "Été à Nîmes",
  "Crème & Clover",
  'St. Ives "Classic"',
] as const;

export const itemNames = [
  "Dinner Plate",
  "Salad Plate",
  "Soup Bowl",
  "Serving Platter",
  "Mug",
  "Teapot",
  "Wine Glass",
  "Flute",
  "Table Knife",
  "Salad Fork",
  "Gravy Boat",
  "Cake Stand",
  "Ornament",
  "Picture Frame",
] as const;

export const vendors = ["Northfield", "Casa Lume", "Ørsted & Daughters", "Kiln No. 9", "Brightwater"] as const;

export const productTypes = ["", "Dinnerware", "Drinkware", "Flatware", "Giftware", "Serveware"] as const;

export const tags = [
  "dishwasher-safe",
  "microwave-safe",
  "gift",
  "bridal",
  "holiday",
  "new",
  "clearance",
  "personalizable",
  "material:porcelain",
  "material:bone china",
  "material:stainless 18/10",
  "season:winter",
  "set:4",
  "color:white",
] as const;

export const optionNames = ["Color", "Size", "Finish"] as const;

export const optionValues = [
  ["White", "Ivory", "Cobalt", "Sage", "Charcoal", "Blush", "Gold", "Platinum", "Café", "Sky/Grey"],
  ["6 in", "8 in", "10 in", "12 in", "Small", "Medium", "Large", "Set of 4", "Set of 8", '12"'],
  ["Glazed", "Matte", "Gold rim", "Platinum rim", "Etched", "Beaded"],
] as const;

export const productMetafieldKeys = [
  "bullet_list_copy",
  "designer_id",
  "pattern_id",
  "ware_id",
  "warehouse_desc",
  "whats_included_list_copy",
  "ware_description",
  "pattern_style_desc",
  "lifestyle_code",
  "pattern_trim_type",
  "catalog_list",
  "introduction_date",
  "pattern_group_id",
  "long_desc",
  "product_id",
  "shape_desc",
] as const;

export const variantMetafieldKeys = [
  "sku_status",
  "color_desc",
  "romance_copy",
  "bullet_list_copy",
  "whats_included_list_copy",
] as const;

export const sentences = [
  "Made to be used every day and handed on.",
  "The glaze is mixed by hand, so no two pieces are quite alike.",
  "Chip-resistant, and safe in the dishwasher.",
  "A quiet rim of 24-karat gold.",
  "Stacks neatly; looks better when it does not.",
  "Drawn from a 1930s sketchbook found in the archive.",
] as const;
