import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Response } from 'express';

/** One for all: `abort()` without a reason makes an exception with a stack, for each request. */
const REASON = new Error('nobody waits for the answer any more');

const signals = new WeakMap<Response, AbortSignal>();

/** Aborted when nobody waits for the answer: the client has disconnected, or the deadline has answered in its place. */
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

/** The request's AbortSignal, as a parameter of a controller's method. */
export const RequestSignal = createParamDecorator((_: unknown, context: ExecutionContext): AbortSignal =>
  signalOf(context.switchToHttp().getResponse<Response>()),
);
