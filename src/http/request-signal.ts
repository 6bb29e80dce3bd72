import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Response } from 'express';

/** Shared by all requests, because `abort()` without a reason creates an exception with a stack each time. */
const REASON = new Error('the client no longer waits for the response');

const signals = new WeakMap<Response, AbortSignal>();

/** Returns a signal that is aborted when the client disconnects or the deadline has sent a response. */
export function signalOf(response: Response): AbortSignal {
  let signal = signals.get(response);
  if (signal === undefined) {
    const controller = new AbortController();
    if (response.closed) controller.abort(REASON);
    else response.once('close', () => controller.abort(REASON));
    signal = controller.signal;
    signals.set(response, signal);
  }
  return signal;
}

/** Injects the request's AbortSignal into a controller's method. */
export const RequestSignal = createParamDecorator((_: unknown, context: ExecutionContext): AbortSignal =>
  signalOf(context.switchToHttp().getResponse<Response>()),
);
