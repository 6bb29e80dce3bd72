import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  IsArray,
  IsIn,
  IsInt,
  Max,
  Min,
  ValidateBy,
  ValidateNested,
  type ValidationArguments,
  type ValidationOptions,
} from 'class-validator';
import { DOCUMENT_PATTERN, hasValidCheckDigits } from '../common/document.js';
import { MONEY_PATTERN, parseMoney } from '../common/money.js';
import { Converted, toDto } from './to-dto.js';
import {
  callerIdFault,
  dayFault,
  documentFault,
  type FaultOf,
  instantFault,
  moneyFault,
  textFault,
} from './value-faults.js';

/** The group of rules that apply only if DOCUMENT_CHECK_DIGITS is on. */
export const CHECK_DIGITS = 'check_digits';

/** A rule whose message says what is wrong with the value. */
export const rule = (name: string, faultOf: FaultOf, options?: ValidationOptions): PropertyDecorator =>
  ValidateBy(
    {
      name,
      validator: {
        validate: (value: unknown) => faultOf(value) === undefined,
        defaultMessage: (given) => faultOf(given?.value) ?? '',
      },
    },
    options,
  );

/** Money in BRL as a decimal string; greater than zero unless `zero` is allowed. */
export function IsMoney(options: { zero: boolean }): PropertyDecorator {
  return applyDecorators(
    rule('isMoney', moneyFault(options)),
    ApiProperty({ type: String, pattern: MONEY_PATTERN.source }),
  );
}

/** Money that is at most another member of the same body, if both are valid. */
export function IsAtMost(member: string): PropertyDecorator {
  const isMoney = (value: unknown): value is string => typeof value === 'string' && MONEY_PATTERN.test(value);
  return ValidateBy({
    name: 'isAtMost',
    validator: {
      validate: (value: unknown, { object }: ValidationArguments) => {
        const limit = (object as Record<string, unknown>)[member];
        return !isMoney(value) || !isMoney(limit) || parseMoney(value) <= parseMoney(limit);
      },
      defaultMessage: () => `must be at most the ${member}`,
    },
  });
}

/** An ID that the caller chooses: 1 to 100 characters, without control characters and lone surrogates. */
export function IsCallerId(): PropertyDecorator {
  return applyDecorators(
    rule('isCallerId', callerIdFault),
    ApiProperty({ type: String, minLength: 1, maxLength: 100 }),
  );
}

/** Free text of at most `maximum` characters that the database can store. */
export function IsText(maximum: number): PropertyDecorator {
  return applyDecorators(rule('isText', textFault(maximum)), ApiProperty({ type: String, maxLength: maximum }));
}

/** A customer's taxpayer number (CPF or CNPJ). Its check digits are validated if the configuration says so. */
export function IsDocument(): PropertyDecorator {
  return applyDecorators(
    rule('isDocument', documentFault),
    rule(
      'hasValidCheckDigits',
      (value) =>
        documentFault(value) !== undefined || hasValidCheckDigits(String(value))
          ? undefined
          : 'must be a CPF or a CNPJ with valid check digits',
      { groups: [CHECK_DIGITS], always: false },
    ),
    ApiProperty({ type: String, pattern: DOCUMENT_PATTERN.source }),
  );
}

/**
 * An array of at most `maximum` objects. Its elements are converted to DTOs before validation. An element that is not
 * an object becomes a value that nested validation refuses with its index; otherwise validation would skip `null` and
 * descend into nested arrays. An array that is too long is not converted, because it can have ten thousand elements.
 */
export function IsListOf(type: () => Type<object>, maximum: number, message: { message: string }): PropertyDecorator {
  return applyDecorators(
    IsArray(message),
    ArrayMaxSize(maximum, message),
    ValidateNested({ each: true, message: 'must be an object' }),
    Converted((value, { pointer, unknown }) =>
      Array.isArray(value) && value.length <= maximum
        ? value.map((element: unknown, at) =>
            isObject(element) ? toDto(type(), element, { pointer: `${pointer}/${at}`, unknown }) : '',
          )
        : value,
    ),
    ApiProperty({ type: () => type(), isArray: true, maxItems: maximum }),
  );
}

/** A query parameter of one or more words of a list, separated by commas. */
export function IsQueryWords(words: readonly string[]): PropertyDecorator {
  const documented = { type: String, enum: [...words], isArray: true, required: false, explode: false };
  const message = `must be one or more of ${words.join(', ')}, separated by commas`;
  return applyDecorators(
    ApiProperty(documented),
    Converted((value) => (typeof value === 'string' ? value.split(',') : '')),
    IsIn(words, { each: true, message }),
  );
}

/** A whole number in a query: digits only, without a sign, a decimal point or an exponent. */
export function IsQueryInteger(minimum: number, maximum: number): PropertyDecorator {
  return applyDecorators(
    Converted((value) => (typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value)),
    IsWholeNumber(minimum, maximum),
    ApiProperty({ required: false }),
  );
}

/** A whole number in a body. */
export function IsWholeNumber(minimum: number, maximum: number): PropertyDecorator {
  const message = `must be a whole number from ${minimum} to ${maximum}`;
  return applyDecorators(
    IsInt({ message }),
    Min(minimum, { message }),
    Max(maximum, { message }),
    ApiProperty({ type: 'integer', minimum, maximum }),
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An instant in RFC 3339, such as `2026-11-20T13:45:00.000Z`. */
export function IsInstant(): PropertyDecorator {
  return applyDecorators(rule('isInstant', instantFault), ApiProperty({ type: String, format: 'date-time' }));
}

/** A calendar day, such as `2026-11-20`. */
export function IsDay(): PropertyDecorator {
  return applyDecorators(rule('isDay', dayFault), ApiProperty({ type: String, format: 'date' }));
}
