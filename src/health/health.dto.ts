/** A healthy answer; an unhealthy one is a problem with status 503. */
export class HealthDto {
  /** @example ok */
  readonly status!: string;
}
