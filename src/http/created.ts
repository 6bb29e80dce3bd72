import type { Type } from '@nestjs/common';
import { ApiCreatedResponse } from '@nestjs/swagger';
import { headerReferences } from './response-headers.js';

/** Documents the 201 of an operation that is idempotent by its `external_id`. */
export function ApiCreated(type: Type, description: string): MethodDecorator {
  return ApiCreatedResponse({ type, description, headers: headerReferences('Location', 'Idempotency-Replayed') });
}
