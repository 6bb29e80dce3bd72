import { describeModel } from '../support/model/property.js';

describeModel({ sequences: 80, seconds: Number(process.env.ENDURANCE_SECONDS ?? 60) });
