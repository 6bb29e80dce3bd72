import { localDate, startOfDayAfter } from '../days.js';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const formats = new Map<string, Intl.DateTimeFormat>();

/** What the clocks of a zone show, as if it were UTC. */
function shown(instant: number, timeZone: string): number {
  const options = { timeZone, dateStyle: 'short', timeStyle: 'medium' } as const;
  const format = formats.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', options);
  formats.set(timeZone, format);
  return Date.parse(`${format.format(instant).replace(' ', 'T')}Z`) + (instant % 1000);
}

/** The days of a scenario: day 0 is a date that has not come yet, wherever the test runs. */
export class Calendar {
  readonly #dayZero: number;

  /** @param begins such as `3 days before the clocks go forward`. By default, day 0 is January 1. */
  constructor(
    private readonly zone: string,
    begins?: string,
  ) {
    const year = new Date(Date.now() + 7 * DAY).getUTCFullYear() + 1;
    const newYear = startOfDayAfter(Date.UTC(year, 0, 1, 12), 0, zone);
    const [, days, direction] = /^(\d+) days before the clocks go (forward|back)$/.exec(begins ?? '') ?? [];
    const change = direction === undefined ? 0 : dayOfChange(newYear, zone, direction);
    this.#dayZero = startOfDayAfter(newYear, change - Number(days ?? 0), zone);
  }

  /** The instant at which the clocks show a time, such as `day 8 10:00`, on a day. */
  instant(text: string): string {
    const [, day, hours = '0', minutes = '0'] = /^day (-?\d+)(?: (\d\d):(\d\d))?$/.exec(text)!;
    const midnight = startOfDayAfter(this.#dayZero, Number(day), this.zone);
    const time = (Number(hours) * 60 + Number(minutes)) * MINUTE;
    // On the day of a change, some times are nearer to midnight, or farther.
    const ahead = shown(midnight + time, this.zone) - shown(midnight, this.zone) - time;
    return new Date(midnight + time - ahead).toISOString();
  }

  /** The date of a day, such as `day 8`. */
  date(text: string): string {
    return localDate(Date.parse(this.instant(text)), this.zone);
  }

  dayOf(date: string): string {
    return String((Date.parse(date) - Date.parse(localDate(this.#dayZero, this.zone))) / DAY);
  }

  /** What calendar and clock show: the day and the time. */
  at(instant: string): [day: string, time: string] {
    const time = new Date(shown(Date.parse(instant), this.zone)).toISOString().slice(11, 23);
    return [this.dayOf(localDate(Date.parse(instant), this.zone)), time.replace(/(:00)?\.000$/, '')];
  }
}

/** How many days after a day the clocks of a zone change. */
function dayOfChange(midnight: number, zone: string, direction: string): number {
  const ahead = DAY + (direction === 'forward' ? 60 : -60) * MINUTE;
  for (let day = 1, noon = midnight + DAY / 2; day < 366; day++, noon += DAY)
    if (shown(noon + DAY, zone) - shown(noon, zone) === ahead) return day;
  throw new Error(`the clocks of ${zone} do not go ${direction}`);
}
