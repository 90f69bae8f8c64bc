import Foundation
import TestBudget
import Testing

@testable import BackstitchCore

@Suite(.budgeted) struct CalendarPeriodTests {
    private static func calendar(
        _ zone: String, _ identifier: Calendar.Identifier = .iso8601
    ) throws -> Calendar {
        var calendar = Calendar(identifier: identifier)
        calendar.timeZone = try #require(TimeZone(identifier: zone))
        return calendar
    }

    private static func date(_ text: String) throws -> Date {
        try Date(text, strategy: .iso8601)
    }

    @Test(arguments: [
        (DatePeriod.day, "2024-02-29T23:59:59Z", "2024-02-29T00:00:00Z"),
        (.day, "1969-12-31T23:00:00Z", "1969-12-31T00:00:00Z"),
        (.week, "2024-12-31T12:00:00Z", "2024-12-30T00:00:00Z"),
        (.week, "2023-01-01T00:00:00Z", "2022-12-26T00:00:00Z"),
        (.week, "1969-12-28T00:00:00Z", "1969-12-22T00:00:00Z"),
        (.month, "2024-02-29T00:00:00Z", "2024-02-01T00:00:00Z"),
        (.month, "1900-02-28T00:00:00Z", "1900-02-01T00:00:00Z"),
        (.year, "2000-12-31T23:59:59Z", "2000-01-01T00:00:00Z"),
    ])
    func `periods in UTC begin where they should`(
        period: DatePeriod, text: String, start: String
    ) throws {
        #expect(try period.start(of: Self.date(text)) == Self.date(start))
    }

    @Test func `numbers alone give what Foundation's calendar does`() throws {
        let calendar = try Self.calendar("GMT")
        var generator = SeededGenerator(seed: 9)
        let first: Int64 = -10_000_000_000_000
        for _ in 0..<3_000 {
            let time = Int64.random(in: first...10_000_000_000_000, using: &generator)
            let date = Date(milliseconds: time)
            for (period, component) in [
                (DatePeriod.day, Calendar.Component.day), (.week, .weekOfYear), (.month, .month),
                (.year, .year),
            ] {
                let expected = calendar.dateInterval(of: component, for: date)?.start
                #expect(period.start(of: date) == expected, "\(date)")
            }
        }
    }

    @Test func `days are right where clocks change`() throws {
        let berlin = try Self.calendar("Europe/Berlin")
        for (text, start) in [
            // 23 hours, then 25.
            ("2024-03-31T21:59:59Z", "2024-03-30T23:00:00Z"),
            ("2024-03-31T22:00:00Z", "2024-03-31T22:00:00Z"),
            ("2024-10-27T22:59:59Z", "2024-10-26T22:00:00Z"),
            ("2024-10-27T23:00:00Z", "2024-10-27T23:00:00Z"),
        ] {
            let found = DatePeriod.day(in: berlin).start(of: try Self.date(text))
            #expect(try found == Self.date(start), "\(text)")
        }
        // Midnight does not exist on this day.
        let saoPaulo = try Self.calendar("America/Sao_Paulo")
        let found = DatePeriod.day(in: saoPaulo).start(of: try Self.date("2018-11-04T12:00:00Z"))
        #expect(try found == Self.date("2018-11-04T03:00:00Z"))
        // A day that was left out.
        let samoa = try Self.calendar("Pacific/Apia")
        let after = DatePeriod.day(in: samoa).start(of: try Self.date("2011-12-30T12:00:00Z"))
        #expect(try after == Self.date("2011-12-30T10:00:00Z"))
    }

    @Test func `weeks begin where a calendar says`() throws {
        var calendar = try Self.calendar("GMT", .gregorian)
        calendar.firstWeekday = 1
        calendar.minimumDaysInFirstWeek = 1
        let found = DatePeriod.week(in: calendar).start(of: try Self.date("2024-12-31T00:00:00Z"))
        #expect(try found == Self.date("2024-12-29T00:00:00Z"))
    }

    @Test func `names say all of a period`() throws {
        let berlin = try Self.calendar("Europe/Berlin", .gregorian)
        for period in [DatePeriod.day, .week, .month, .year, .week(in: berlin), .day(in: berlin)] {
            let binding = try Sample.binding().attribute(named: period.name(of: "born"))
            guard case .period(let read) = binding.derivation else {
                Issue.record("\(period.name(of: "born")) is no period")
                continue
            }
            var generator = SeededGenerator(seed: 1)
            for _ in 0..<50 {
                let time = Int64.random(in: 0...1_900_000_000_000, using: &generator)
                #expect(
                    Date(milliseconds: read.start(time))
                        == period.start(of: Date(milliseconds: time)))
            }
        }
        #expect(DatePeriod.month.name(of: "born") == "month(born)")
    }
}
