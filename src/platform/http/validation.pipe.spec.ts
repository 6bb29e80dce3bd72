import { describe, expect, it } from '@jest/globals';
import { type Type } from '@nestjs/common';
import { LoginDto } from '../../auth/auth.dto.js';
import { CreateOrderDto } from '../../orders/order-requests.dto.js';
import { Problem } from '../values/problem.js';
import { RequestValidationPipe } from './validation.pipe.js';

const pipe = new RequestValidationPipe();

/** Counts how often the object and its nested objects are accessed. */
function counted<T extends object>(body: T): { body: T; accesses: () => number } {
  let accesses = 0;
  const watch = <O extends object>(object: O): O =>
    new Proxy(object, {
      get: (target, name, receiver) => {
        accesses += 1;
        const value: unknown = Reflect.get(target, name, receiver);
        return typeof value === 'object' && value !== null ? watch(value) : value;
      },
      has: (target, name) => ((accesses += 1), Reflect.has(target, name)),
      getOwnPropertyDescriptor: (target, name) => ((accesses += 1), Reflect.getOwnPropertyDescriptor(target, name)),
      ownKeys: (target) => {
        const keys = Reflect.ownKeys(target);
        accesses += keys.length;
        return keys;
      },
    });
  return { body: watch(body), accesses: () => accesses };
}

const unknownMembers = (count: number): Record<string, unknown> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, { b: at }]));

/** The problem with which the body is refused. */
function refusalOf(body: object, metatype: Type): Problem {
  try {
    pipe.transform(body, { type: 'body', metatype });
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error('the body was accepted');
}

describe('the cost of validating a request body', () => {
  it('validation reads the names of unknown members once and none of their values', () => {
    const { body, accesses } = counted({ ...unknownMembers(29_160), email: 'api@shop.example', password: 'x' });
    expect(refusalOf(body, LoginDto).message).toBe('more than 100 members are not valid');
    expect(accesses()).toBeLessThan(2 * 29_160 + 10);
  });

  it('validation reads the names of unknown members of an item once and none of their values', () => {
    const item = { ...unknownMembers(10_000), id: 'sku-1', price: '1.00' };
    const { body, accesses } = counted({
      external_id: 'PED-1',
      document: '52998224725',
      total: '1.00',
      items: [item],
      payment_methods: [],
    });
    expect(refusalOf(body, CreateOrderDto).message).toBe('more than 100 members are not valid');
    expect(accesses()).toBeLessThan(2 * 10_000 + 100);
  });

  it('validation keeps few of the errors of 500 items that have 50 unknown members each', () => {
    const items = Array.from({ length: 500 }, () => unknownMembers(50));
    const { errors } = refusalOf({ items }, CreateOrderDto);
    expect(errors?.filter(({ detail }) => detail.startsWith('is not a member'))).toHaveLength(101);
  });

  it('the cost of validation does not grow with the length of an array that is too long', () => {
    const { body, accesses } = counted({ items: Array.from({ length: 80_000 }, () => ({})) });
    expect(() => pipe.transform(body, { type: 'body', metatype: CreateOrderDto })).toThrow('members are not valid');
    expect(accesses()).toBeLessThan(100);
  });
});
