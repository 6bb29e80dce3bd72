import { applyDecorators } from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import { IsBoolean, IsInt, Max, Min, ValidateBy } from 'class-validator';

/**
 * A rule that sees the value, or an empty string if it is not set.
 *
 * @param message completes a sentence that begins with the variable's name.
 */
export const Satisfies = <C>(
  isValid: (value: string, config: C) => boolean,
  message: string | ((value: string) => string),
): PropertyDecorator =>
  ValidateBy({
    name: 'satisfies',
    validator: {
      validate: (value: unknown, args) => isValid(textOf(value), args?.object as C),
      defaultMessage: (args) => (typeof message === 'string' ? message : message(textOf(args?.value))),
    },
  });

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'boolean' ? String(value) : '';

/** `true` or `false`. */
export const Flag = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value === 'false' ? false : value)),
    IsBoolean({ message: 'must be true or false' }),
  );

export const IntegerBetween = (low: number, high: number): PropertyDecorator => {
  const message = `must be a whole number from ${low} to ${high}`;
  return applyDecorators(
    Type(() => Number),
    IsInt({ message }),
    Min(low, { message }),
    Max(high, { message }),
  );
};
