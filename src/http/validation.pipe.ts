import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { type ValidationError, type ValidatorOptions, validateSync } from 'class-validator';
import { Config } from '../config/config.js';
import { type Fault, validationFailed } from '../common/problem.js';
import { CHECK_DIGITS } from './validators.js';

/**
 * Turns bodies and queries into DTOs. Unknown members are dropped, as additions by a caller must not
 * break it; all faults are reported at once, each with a JSON Pointer into the body.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform<unknown, unknown> {
  readonly #options: ValidatorOptions;

  constructor(config: Config) {
    this.#options = {
      whitelist: true,
      stopAtFirstError: true,
      // Rules without a group always hold; those of the group only where the configuration asks for them.
      always: true,
      groups: [config.CPF_CHECK_DIGITS ? CHECK_DIGITS : 'default'],
    };
  }

  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if ((type !== 'body' && type !== 'query') || metatype === undefined) return value;
    // No body at all lacks every member; `null` is a body, and no object.
    const given = value === undefined ? {} : value;
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      throw validationFailed([{ pointer: '', detail: 'must be an object' }]);
    const dto = plainToInstance(metatype as Type<object>, given);
    const faults = faultsOf(validateSync(dto, this.#options), type);
    if (faults.length > 0) throw validationFailed(faults);
    return dto;
  }
}

/** Flattens class-validator's tree of errors. */
function faultsOf(errors: ValidationError[], place: 'body' | 'query', parent = ''): Fault[] {
  return errors.flatMap((error) => {
    const path = `${parent}/${error.property}`;
    const at = place === 'body' ? { pointer: path } : { parameter: error.property };
    const own = Object.values(error.constraints ?? {}).map((detail) => ({ ...at, detail }));
    return [...own, ...faultsOf(error.children ?? [], place, path)];
  });
}
