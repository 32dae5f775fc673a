/** The look that all charts share. */
export const ourColour = '#1559b7';
export const otherColours = ['#8a8f98', '#b6794a'];
export const textColour = '#30343b';
export const quietColour = '#6b7280';
export const gridColour = '#e5e7eb';
export const font = 'system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif';

export const fonts = { text: { font }, title: { font }, axis: { labelFont: font, titleFont: font } } as const;
export const padding = { left: 12, top: 12, right: 12, bottom: 12 } as const;

export const quietAxis = {
  labelColor: quietColour,
  titleColor: quietColour,
  titleFontWeight: 'normal',
  domainColor: gridColour,
  tickColor: gridColour,
  titlePadding: 10,
  labelPadding: 6,
} as const;

export function titleOf({ title, subtitle }: { readonly title: string; readonly subtitle: string }) {
  return {
    text: title,
    subtitle,
    anchor: 'start',
    frame: 'group',
    offset: 18,
    fontSize: 16,
    color: textColour,
    subtitleFont: font,
    subtitleFontSize: 12,
    subtitleColor: quietColour,
    subtitlePadding: 4,
  } as const;
}
