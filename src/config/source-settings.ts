import { setting } from "./setting.ts";
import { anyText, count, header, httpUrl, networks } from "./values.ts";

/** Settings for access to feeds, files, and other systems. */
export const sourceSettings = {
  feedAuthorization: setting({
    default: "",
    parse: header,
    sentence: "`Authorization` header for a feed at an `https://` URL, such as `Bearer …`.",
    hide: "secret",
  }),
  maxFileMegabytes: setting({
    default: "10000",
    parse: count,
    sentence:
      "Maximum size in megabytes of one file that a job reads, as stored and decompressed: of a feed, of products, or a bulk result of the platform. 0 disables the limit.",
  }),
  allowedLinkLocal: setting({
    default: "",
    parse: networks,
    sentence:
      "Link-local and metadata addresses or networks that this service may send requests to, separated by commas, such as `169.254.10.0/24`. It refuses all others of this kind: `169.254.0.0/16`, `fe80::/10`, and those at which clouds give out credentials.",
  }),
  s3Endpoint: setting({
    default: "",
    parse: httpUrl,
    sentence: "Endpoint of an S3-compatible store other than Amazon's, for a feed at an `s3://` URL.",
    hide: "credentials",
  }),
  s3Region: setting({ default: "us-east-1", parse: anyText, sentence: "Region of the S3 store." }),
  s3AccessKeyId: setting({ default: "", parse: anyText, sentence: "Access key ID for the S3 store.", hide: "secret" }),
  s3SecretAccessKey: setting({
    default: "",
    parse: anyText,
    sentence: "Secret access key for the S3 store.",
    hide: "secret",
  }),
};
