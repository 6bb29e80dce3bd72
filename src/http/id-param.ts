import { Param, type PipeTransform } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import { notFound } from '../common/problem.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** An ID that is not a UUID can't exist, so it needs no lookup. */
const uuidOrNotFound: PipeTransform<string, string> = {
  transform(value) {
    const id = value.toLowerCase();
    if (!UUID.test(id)) throw notFound();
    return id;
  },
};

/**
 * The `{id}` of a path, or another ID by its name. Anything but a UUID is a 404.
 *
 * @param description for the OpenAPI document.
 */
export const IdParam = (description: string, name = 'id'): ParameterDecorator =>
  documented(Param(name, uuidOrNotFound), ApiParam({ name, description, schema: { type: 'string', format: 'uuid' } }));

/** Returns a decorator of a parameter that also documents it in the parameter's operation. */
export function documented(parameter: ParameterDecorator, operation: MethodDecorator): ParameterDecorator {
  return (target, method = '', index) => {
    parameter(target, method, index);
    operation(target, method, Object.getOwnPropertyDescriptor(target, method) ?? {});
  };
}
