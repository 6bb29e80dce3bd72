import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { addDays, dayOf, isTimeZone, startOfDay } from './time.js';

const at = (text: string): Date => new Date(text);

describe('calendar days', () => {
  it.each([
    ['2026-11-20T13:45:00.000Z', 'America/Sao_Paulo', '2026-11-20'],
    ['2026-11-21T02:59:59.999Z', 'America/Sao_Paulo', '2026-11-20'],
    ['2026-11-21T03:00:00.000Z', 'America/Sao_Paulo', '2026-11-21'],
    ['2026-12-31T23:59:59.999Z', 'UTC', '2026-12-31'],
    ['2026-12-31T10:00:00.000Z', 'Pacific/Kiritimati', '2027-01-01'],
    ['1969-12-31T23:59:59.999Z', 'UTC', '1969-12-31'],
  ])('the local date of %s in %s is %s', (instant, zone, day) => {
    expect(dayOf(at(instant), zone)).toBe(day);
  });

  it.each([
    ['2026-11-28', 'America/Sao_Paulo', '2026-11-28T03:00:00.000Z'],
    ['2026-02-28', 'Asia/Kolkata', '2026-02-27T18:30:00.000Z'],
    // Daylight saving time starts and ends during the day.
    ['2026-03-08', 'America/New_York', '2026-03-08T05:00:00.000Z'],
    ['2026-03-09', 'America/New_York', '2026-03-09T04:00:00.000Z'],
    ['2026-11-01', 'America/New_York', '2026-11-01T04:00:00.000Z'],
    ['2026-11-02', 'America/New_York', '2026-11-02T05:00:00.000Z'],
    // The clocks skip midnight, so the day begins at 01:00.
    ['2018-11-04', 'America/Sao_Paulo', '2018-11-04T03:00:00.000Z'],
    ['2018-11-05', 'America/Sao_Paulo', '2018-11-05T02:00:00.000Z'],
    // The hour before midnight occurs twice.
    ['2018-02-18', 'America/Sao_Paulo', '2018-02-18T03:00:00.000Z'],
    // Midnight occurs twice: the clocks go back at 00:01.
    ['2006-10-29', 'America/St_Johns', '2006-10-29T02:30:00.000Z'],
    // The clocks go back from 01:00 to midnight.
    ['2026-11-01', 'America/Havana', '2026-11-01T04:00:00.000Z'],
    // The day does not exist, so it begins with the next one.
    ['2011-12-30', 'Pacific/Apia', '2011-12-30T10:00:00.000Z'],
    ['2011-12-31', 'Pacific/Apia', '2011-12-30T10:00:00.000Z'],
    // The clocks skip midnight.
    ['2026-03-29', 'Asia/Beirut', '2026-03-28T22:00:00.000Z'],
    ['2026-03-30', 'Asia/Beirut', '2026-03-29T21:00:00.000Z'],
    ['2026-04-24', 'Africa/Cairo', '2026-04-23T22:00:00.000Z'],
    ['2026-03-08', 'America/Havana', '2026-03-08T05:00:00.000Z'],
    ['2026-09-06', 'America/Santiago', '2026-09-06T04:00:00.000Z'],
  ])('the day %s begins in %s at %s', (day, zone, instant) => {
    expect(startOfDay(day, zone)).toEqual(at(instant));
  });

  it.each([
    ['2026-11-20', 8, '2026-11-28'],
    ['2026-11-28', 179, '2027-05-26'],
    ['2028-02-28', 1, '2028-02-29'],
    ['2026-03-01', -1, '2026-02-28'],
    ['9998-12-31', 36_500, '+010098-12-06'],
  ])('the day %s plus %i days is %s', (day, days, sum) => {
    expect(addDays(day, days)).toBe(sum);
  });

  it('a day begins at its first instant, and the instant before belongs to the day before, in every time zone', () => {
    const zones = Intl.supportedValuesOf('timeZone');
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.date({ min: at('2012-01-01'), max: at('2060-01-01'), noInvalidDate: true }),
        (zone, instant) => {
          const day = dayOf(instant, zone);
          const start = startOfDay(day, zone);
          expect(dayOf(start, zone)).toBe(day);
          expect(dayOf(new Date(start.getTime() - 1), zone)).toBe(addDays(day, -1));
          expect(start.getTime()).toBeLessThanOrEqual(instant.getTime());
        },
      ),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['America/Sao_Paulo', true],
    ['UTC', true],
    ['Etc/GMT+3', true],
    ['-03:00', false],
    ['America/São_Paulo', false],
    ['Brasilia', false],
    ['', false],
  ])('isTimeZone returns for %j: %s', (text, expected) => {
    expect(isTimeZone(text)).toBe(expected);
  });
});
