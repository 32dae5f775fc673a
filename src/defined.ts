/** An object without the fields that are undefined: `exactOptionalPropertyTypes` distinguishes them from absent ones. */
type Defined<Fields> = {
  [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name];
} & {
  [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined>;
};

/** The fields that are not undefined, in their order. Use it to spread optional fields into an object. */
export function defined<const Fields extends object>(fields: Fields): Defined<Fields> {
  const kept: Partial<Fields> = {};
  for (const name in fields) if (fields[name] !== undefined) kept[name] = fields[name];
  return kept as unknown as Defined<Fields>;
}
