import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { type ValidationError, type ValidatorOptions, validateSync } from 'class-validator';
import { Config } from '../config/config.js';
import { type Fault, validationFailed } from '../common/problem.js';
import { toDto } from './to-dto.js';
import { memberFault, parameterFault, type UnknownMember } from './unknown-members.js';
import { CHECK_DIGITS } from './validators.js';

/**
 * Turns bodies and queries into DTOs. A member or parameter that the DTO does not declare is an error. All errors are
 * reported together, each with a JSON Pointer into the body or the name of the query parameter.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform<unknown, unknown> {
  readonly #options: ValidatorOptions;

  constructor(config: Config) {
    this.#options = {
      stopAtFirstError: true,
      // Rules without a group always apply; those of a group only if the configuration enables it.
      always: true,
      groups: [config.DOCUMENT_CHECK_DIGITS ? CHECK_DIGITS : 'default'],
    };
  }

  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if ((type !== 'body' && type !== 'query') || metatype === undefined) return value;
    // A missing body is treated as an object without members. `null` is a body, but not an object.
    const given = value === undefined ? {} : value;
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      throw validationFailed([{ pointer: '', detail: 'must be an object' }]);
    const unknown: UnknownMember[] = [];
    const dto = toDto(metatype as Type<object>, given, { pointer: '', unknown });
    const faults = faultsOf(validateSync(dto, this.#options), type);
    faults.push(...unknown.map(type === 'body' ? memberFault : parameterFault));
    if (faults.length > 0) throw validationFailed(faults);
    return dto;
  }
}

/** Flattens class-validator's error tree. */
function faultsOf(errors: ValidationError[], place: 'body' | 'query', parent = ''): Fault[] {
  return errors.flatMap((error) => {
    const path = `${parent}/${error.property}`;
    const at = place === 'body' ? { pointer: path } : { parameter: error.property };
    const details = Object.values(error.constraints ?? {});
    const isMissing = error.value === undefined || error.value === null;
    const own = (isMissing ? ['is required'] : details).map((detail) => ({ ...at, detail }));
    return [...own, ...faultsOf(error.children ?? [], place, path)];
  });
}
