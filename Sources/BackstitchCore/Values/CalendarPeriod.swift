package import Foundation

/// Days, weeks, months or years of a calendar in a time zone.
package struct CalendarPeriod: Hashable, Sendable {
    /// What dates are grouped by.
    package enum Unit: String, Hashable, Sendable, CaseIterable {
        case day, week, month, year

        fileprivate var component: Calendar.Component {
            switch self {
            case .day: .day
            case .week: .weekOfYear
            case .month: .month
            case .year: .year
            }
        }
    }

    package let unit: Unit
    private let calendar: Calendar
    /// Whether days have 24 hours and weeks begin on Monday, so that numbers alone tell.
    private let isPlain: Bool

    package init(_ unit: Unit, in calendar: Calendar) {
        self.unit = unit
        self.calendar = calendar
        isPlain =
            calendar.identifier == .iso8601 && calendar.timeZone == .gmt
            && calendar.firstWeekday == 2 && calendar.minimumDaysInFirstWeek == 4
    }

    /// The ISO calendar, whose weeks begin on Monday, in UTC.
    package static var standardCalendar: Calendar {
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = .gmt
        return calendar
    }

    // MARK: Names

    /// The calendars that names know.
    private static let calendars: [(name: String, identifier: Calendar.Identifier)] = [
        ("iso8601", .iso8601), ("gregorian", .gregorian), ("buddhist", .buddhist),
        ("chinese", .chinese), ("coptic", .coptic), ("hebrew", .hebrew), ("indian", .indian),
        ("islamic", .islamic), ("islamicCivil", .islamicCivil), ("japanese", .japanese),
        ("persian", .persian), ("republicOfChina", .republicOfChina),
    ]

    /// - Parameter arguments: The time zone, the calendar, its first weekday (1 is Sunday) and the fewest days of
    ///   a year's first week, each of which may be missing with those behind it.
    init?(_ function: Substring, arguments: [Substring]) {
        guard let unit = Unit(rawValue: String(function)), arguments.count <= 4 else { return nil }
        var calendar = Self.standardCalendar
        if arguments.count > 1 {
            guard let known = Self.calendars.first(where: { $0.name == arguments[1] }) else {
                return nil
            }
            calendar = Calendar(identifier: known.identifier)
            calendar.locale = Locale(identifier: "en_US_POSIX")
        }
        calendar.timeZone = .gmt
        if let zone = arguments.first {
            guard let zone = TimeZone(identifier: String(zone)) else { return nil }
            calendar.timeZone = zone
        }
        if arguments.count > 2 {
            guard let weekday = Int(arguments[2]), 1...7 ~= weekday else { return nil }
            calendar.firstWeekday = weekday
        }
        if arguments.count > 3 {
            guard let days = Int(arguments[3]), 1...7 ~= days else { return nil }
            calendar.minimumDaysInFirstWeek = days
        }
        self.init(unit, in: calendar)
    }

    func name(of attribute: String) -> String {
        guard !isPlain else { return "\(unit.rawValue)(\(attribute))" }
        let known = Self.calendars.first { $0.identifier == calendar.identifier }
        return "\(unit.rawValue)(\(attribute), \(calendar.timeZone.identifier), "
            + "\(known?.name ?? "\(calendar.identifier)"), \(calendar.firstWeekday), "
            + "\(calendar.minimumDaysInFirstWeek))"
    }

    // MARK: Dates

    private static let dayMilliseconds: Int64 = 86_400_000

    /// When the period began that a time is in. With a change of clocks at midnight a day begins at its first moment.
    ///
    /// Takes some nanoseconds in the standard calendar and some microseconds in another.
    func start(_ milliseconds: Int64) -> Int64 {
        guard isPlain else {
            let date = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
            guard let start = calendar.dateInterval(of: unit.component, for: date)?.start else {
                return milliseconds
            }
            return start.wholeMilliseconds ?? milliseconds
        }
        let day = milliseconds.flooredQuotient(by: Self.dayMilliseconds)
        switch unit {
        case .day: return day.multiplied(by: Self.dayMilliseconds, or: milliseconds)
        case .week:
            // The first day of 1970 was a Thursday.
            let monday = (day + 3).flooredQuotient(by: 7) * 7 - 3
            return monday.multiplied(by: Self.dayMilliseconds, or: milliseconds)
        case .month, .year:
            let (year, month) = Self.yearAndMonth(ofDay: day)
            let first = Self.day(ofYear: year, month: unit == .year ? 1 : month)
            return first.multiplied(by: Self.dayMilliseconds, or: milliseconds)
        }
    }

    /// The year and month of a day since the beginning of 1970, in the proleptic Gregorian calendar.
    ///
    /// Days are counted in eras of 400 years that begin on the first of March, after the leap day.
    private static func yearAndMonth(ofDay day: Int64) -> (year: Int64, month: Int64) {
        let shifted = day + 719_468
        let era = shifted.flooredQuotient(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month)
    }

    /// The first day of a month, since the beginning of 1970.
    private static func day(ofYear year: Int64, month: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = year.flooredQuotient(by: 400)
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}

extension Int64 {
    fileprivate func flooredQuotient(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }

    /// The product, or another number if it leaves 64 bits.
    fileprivate func multiplied(by factor: Int64, or other: Int64) -> Int64 {
        let (product, hasOverflowed) = multipliedReportingOverflow(by: factor)
        return hasOverflowed ? other : product
    }
}
