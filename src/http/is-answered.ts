import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Response } from 'express';
import type { IsAnswered } from '../common/caller.js';

export const isAnsweredOf =
  (response: Response): IsAnswered =>
  () =>
    response.closed || response.writableEnded;

/** Injects whether the request is answered into a controller's method. */
export const Answered = createParamDecorator((_: unknown, context: ExecutionContext): IsAnswered =>
  isAnsweredOf(context.switchToHttp().getResponse<Response>()),
);
