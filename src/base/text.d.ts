/** Files imported `with { type: "text" }`. */
declare module "*.js" {
  const text: string;
  export default text;
}

declare module "*.css" {
  const text: string;
  export default text;
}

declare module "moment-timezone/data/packed/latest.json" {
  const text: string;
  export default text;
}
