import { prepareResponse } from "../cache/response.ts";
import { type Handler, noStore } from "./endpoint.ts";

/** `GET /livez`: the process responds, without any checks. */
export const getLiveness: Handler = () => alive;

const alive = prepareResponse({ type: "application/json", body: '{"status":"ok"}', headers: noStore });

/** The problem that each check found; undefined if there is none. */
type Checks = Readonly<Record<string, string | undefined>>;

export interface Readiness {
  /** A problem takes the process out of rotation. */
  readonly required: Checks;
  /** A problem is only a warning, because other replicas share it. */
  readonly advisory: Checks;
}

/** `GET /readyz`: whether a load balancer should send requests here, with the result of each check. */
export function getReadiness(check: () => Promise<Readiness>): Handler {
  return async () => {
    const { required, advisory } = await check();
    const isReady = Object.values(required).every((problem) => problem === undefined);
    const isDegraded = Object.values(advisory).some((problem) => problem !== undefined);
    const checks: Record<string, string> = {};
    for (const [name, problem] of [...Object.entries(required), ...Object.entries(advisory)]) {
      // A check of both kinds shows its first problem.
      if (checks[name] === undefined || checks[name] === "ok") checks[name] = problem ?? "ok";
    }
    const status = !isReady ? "not ready" : isDegraded ? "degraded" : "ready";
    const body = JSON.stringify({ status, checks });
    const type = "application/json";
    return prepareResponse({ status: isReady ? 200 : 503, type, body, headers: noStore, isRead: true });
  };
}
