import type { OpenAPIObject } from '@nestjs/swagger';
import type { ProblemCode } from '../common/problem.js';

type Components = NonNullable<OpenAPIObject['components']>;
type Schemas = NonNullable<Components['schemas']>;
type NestOperation = NonNullable<OpenAPIObject['paths'][string]['get']>;

/** A schema, with the names of `InOrder` until its members are sorted. OpenAPI 3.1 allows members beside a `$ref`. */
export type Schema = Extract<Schemas[string], { type?: unknown }> & { $ref?: string; 'x-order'?: string[] };

export type Response = Extract<NonNullable<NestOperation['responses'][string]>, { description: string }>;

/** An operation, with the codes of `ApiProblems` until its problems are described. */
export type Operation = NestOperation & { 'x-problems'?: ProblemCode[] };
