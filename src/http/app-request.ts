import type { Request } from 'express';
import type { Caller } from '../common/caller.js';

/** A request, with what the service knows about it. */
export interface AppRequest extends Request {
  /** The ID in the `x-request-id` of the response and in the logs. */
  id: string;
  /** Answers the request when it fires. */
  deadline: NodeJS.Timeout | undefined;
  /** Set by the guard on routes that need an access token. */
  user?: Caller;
  /** The JWT behind the access token. The guard sets it; a JWT from the client must never get here. */
  phantomToken?: string;
}
