public import Foundation

/// Days, weeks, months or years by which dates are grouped.
///
/// Unless a calendar is given they are those of the ISO calendar in UTC, whose weeks begin on Monday, so that
/// they are the same on every device. A calendar has its own time zone, and its days may have 23 or 25 hours
/// where clocks change.
///
/// ```swift
/// var calendar = Calendar(identifier: .gregorian)
/// calendar.timeZone = TimeZone(identifier: "Europe/Berlin")!
/// let days = DatePeriod.day(in: calendar)
/// let counts = try transaction.groups(query, by: days.of(\Note.created), .count())
/// ```
///
/// By names they are written around an attribute: `month(created)`, `day(created, Europe/Berlin)`.
public struct DatePeriod: Hashable, Sendable {
    let period: CalendarPeriod

    private init(_ unit: CalendarPeriod.Unit, _ calendar: Calendar?) {
        period = CalendarPeriod(unit, in: calendar ?? CalendarPeriod.standardCalendar)
    }

    /// Days in UTC.
    public static let day = DatePeriod(.day, nil)
    /// Weeks in UTC, from Monday on.
    public static let week = DatePeriod(.week, nil)
    /// Months of the ISO calendar in UTC.
    public static let month = DatePeriod(.month, nil)
    /// Years of the ISO calendar in UTC.
    public static let year = DatePeriod(.year, nil)

    /// Days of a calendar, in its time zone.
    public static func day(in calendar: Calendar) -> DatePeriod { DatePeriod(.day, calendar) }
    /// Weeks of a calendar, in its time zone and from its first weekday on.
    public static func week(in calendar: Calendar) -> DatePeriod { DatePeriod(.week, calendar) }
    /// Months of a calendar, in its time zone.
    public static func month(in calendar: Calendar) -> DatePeriod { DatePeriod(.month, calendar) }
    /// Years of a calendar, in its time zone.
    public static func year(in calendar: Calendar) -> DatePeriod { DatePeriod(.year, calendar) }

    /// The beginning of the period that a date is in: its first moment, also where clocks change at midnight.
    public func start(of date: Date) -> Date {
        guard let milliseconds = date.wholeMilliseconds else { return date }
        return Date(milliseconds: period.start(milliseconds))
    }

    /// Groups records by the period that a date is in: the key is its beginning, or nil. Periods without records
    /// are left out.
    public func of<Model: Entity, Key: _DateAttributeValue>(
        _ keyPath: any KeyPath<Model, Key> & Sendable
    ) -> GroupKeys<Model, Key> {
        GroupKeys { name(of: try Query<Model>.storedAttribute(at: keyPath)) }
    }

    /// The name of an attribute's period in queries by names.
    package func name(of attribute: String) -> String { period.name(of: attribute) }

    /// What a value becomes; null stays null.
    package func apply(_ value: RecordValue) -> RecordValue {
        Derivation.period(period).apply(value)
    }
}

/// A date, or one that may be nil: what has days, weeks, months and years.
public protocol _DateAttributeValue: OrderedAttributeValue {}

extension Date: _DateAttributeValue {}
extension Optional: _DateAttributeValue where Wrapped == Date {}
