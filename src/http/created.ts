import type { Type } from '@nestjs/common';
import { ApiCreatedResponse } from '@nestjs/swagger';
import type { Response } from 'express';
import { headerReferences } from './response-headers.js';

/** Documents the 201 of an operation that is idempotent by its `external_id`. */
export function ApiCreated(type: Type, description: string): MethodDecorator {
  return ApiCreatedResponse({ type, description, headers: headerReferences('Location', 'Idempotency-Replayed') });
}

/**
 * Sets the headers of a 201, unless the deadline has already answered.
 *
 * @param path of the created resource.
 * @param replayed whether an earlier request created it.
 */
export function markCreated(response: Response, path: string, replayed: boolean): void {
  if (response.headersSent) return;
  response.setHeader('Location', path);
  if (replayed) response.setHeader('Idempotency-Replayed', 'true');
}
