import { applyDecorators, Controller } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { REQUESTS } from '../rate-limits/quotas.js';
import { RateLimit } from '../rate-limits/rate-limit.guard.js';

/**
 * A controller for merchants' systems: its routes need an access token and share the limit of requests. Each says which
 * permission it `Requires`.
 *
 * @param path of its routes.
 * @param tag its section of the OpenAPI document.
 */
export const MerchantController = (path: string, tag: string): ClassDecorator =>
  applyDecorators(Controller(path), ApiTags(tag), RateLimit(REQUESTS));
