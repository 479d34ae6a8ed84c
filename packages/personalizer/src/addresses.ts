/** The folder of the script, also if the script's URL contains its version. */
export const folder = import.meta.url.replace(/\/personalization-options\/[^/]*$/, "/");

/** The API is next to the script. */
export const defaultEndpoint = new URL("api/v1", folder).href;
